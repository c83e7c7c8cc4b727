import type { ServiceRequest } from "./http.ts";
import { invalidRequest, type ServerReply } from "./reply.ts";

/** Far more than any valid request: a prompt of 20,000 characters and 16 URLs. */
const LARGEST_BODY_BYTES = 1024 * 1024;

/**
 * The JSON of a submit (section 4.1), or its refusal. A body that is not declared as JSON gets HTTP 415; one that is not
 * JSON, or larger than 1 MiB, gets HTTP 400. Never throws: if the client disconnects halfway, the body is not JSON.
 */
export async function readJson({
  headers,
  body,
}: ServiceRequest): Promise<{ json: unknown } | { refused: ServerReply }> {
  if (!isJsonType(headers["content-type"])) {
    return { refused: invalidRequest("the Content-Type is not application/json", { status: 415 }) };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // A body that is too large gets its reply too: the connection is not closed.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > LARGEST_BODY_BYTES) return { refused: invalidRequest("the body is larger than 1 MiB") };
      chunks.push(chunk);
    }
    return { json: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))) };
  } catch {
    return { refused: invalidRequest("the body is not JSON") };
  }
}

/** Whether a media type is JSON, whatever its parameters are. */
function isJsonType(contentType = ""): boolean {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
