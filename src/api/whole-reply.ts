import type { HttpClient } from "./client.ts";
import { decoded } from "./decode.ts";
import type { HttpReply } from "./replies.ts";
import { type HttpRequest, TransportError } from "./transport.ts";

const LARGEST_REPLY_BYTES = 1024 * 1024;

/**
 * Sends a request to the service and reads the whole reply, 1 MiB at most. One that was cut short says what cut it.
 * @throws TransportError if not even the head of a reply arrived
 */
export async function wholeReply(http: HttpClient, request: HttpRequest): Promise<HttpReply> {
  const reply: HttpReply = { status: 0, headers: {}, body: "", cut: null };
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    await http.send(
      { ...request, headers: { ...request.headers, "accept-encoding": "identity" } },
      {
        onHead: (status, headers) => Object.assign(reply, { status, headers }),
        onData: (chunk) => {
          size += chunk.length;
          if (size > LARGEST_REPLY_BYTES) throw new Error("a reply of more than 1 MiB");
          chunks.push(chunk);
        },
      },
    );
  } catch (error) {
    // What came before may be all that the service had to say.
    if (!(error instanceof TransportError) || reply.status === 0) throw error;
    reply.cut = error;
  }
  const body = Buffer.concat(chunks);
  const limits = { mostBytes: LARGEST_REPLY_BYTES, mayBeCut: true };
  const bytes = await decoded(body, reply.headers["content-encoding"], limits).catch(() => body);
  reply.body = bytes.toString("utf8");
  return reply;
}
