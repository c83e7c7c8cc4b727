/** Far more than any valid request: a prompt of 20,000 characters and 16 URLs. */
const LARGEST_BODY_BYTES = 1024 * 1024;

/** A request's body as JSON, or why it is not. */
export type Body = { json: unknown } | { problem: string };

/** Section 4.1: whether the Content-Type is `application/json`, parameters aside. */
export function isJsonType(contentType: string | null): boolean {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}

/** Reads up to 1 MiB of UTF-8. Never throws: if the client disconnects halfway, the body is not JSON. */
export async function readBody({ body }: Pick<Request, "body">): Promise<Body> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length;
      if (bytes > LARGEST_BODY_BYTES) return { problem: "the body is larger than 1 MiB" };
      chunks.push(chunk);
    }
    return { json: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))) };
  } catch {
    return { problem: "the body is not JSON" };
  }
}
