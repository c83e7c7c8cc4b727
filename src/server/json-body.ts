import type { Readable } from "node:stream";
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
  const bytes = await bytesOf(body, LARGEST_BODY_BYTES);
  if (bytes === "too large") return { refused: invalidRequest("the body is larger than 1 MiB") };
  try {
    // Nothing is no JSON either.
    return { json: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes ?? undefined)) };
  } catch {
    return { refused: invalidRequest("the body is not JSON") };
  }
}

/** The bytes of a body; null if the client disconnected halfway. A body that is too large gets its reply too. */
export async function bytesOf(body: Readable, mostBytes: number): Promise<Buffer | "too large" | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // Left before its end, the connection stays open for the reply.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > mostBytes) return "too large";
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch {
    return null;
  }
}

/** Whether a media type is JSON, whatever its parameters are. */
function isJsonType(contentType = ""): boolean {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
