import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** A longer head is left to the HTTP library, which refuses it. */
const LONGEST_HEAD_BYTES = 16_384;

/** The bytes up to the end of the status: `HTTP/1.1 100`. */
const STATUS_BYTES = 12;

/**
 * A connector whose connections leave out interim responses (`100 Continue` and the other 1xx) before the first final
 * one. A client must accept them even unrequested (RFC 9110, section 15.2), but undici takes `100 Continue` for an
 * error, and the task id that follows it would be lost. A submit's connection carries one response. On connections that
 * carry more, an interim response to a later request is still an error: polls and downloads are retried.
 */
export function skippingInterim(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result: buildConnector.CallbackArgs) => {
      const [, socket] = result;
      if (socket) skipInterim(socket);
      callback(...result);
    });
}

/** undici takes received bytes with `read()`: until a final response begins, this filters them. */
function skipInterim(socket: Socket): void {
  const read = socket.read.bind(socket);
  let pending: Buffer = Buffer.alloc(0);
  let hasBegun = false;
  socket.read = () => {
    if (hasBegun) return read();
    for (let chunk: Buffer | null = read(); chunk !== null; chunk = read()) {
      const { rest, isFinal } = withoutInterim(Buffer.concat([pending, chunk]));
      if (isFinal) {
        hasBegun = true;
        return rest;
      }
      pending = rest;
    }
    return null;
  };
}

/** The bytes after any interim responses at the beginning, and whether they are certainly not another one. */
function withoutInterim(bytes: Buffer): { rest: Buffer; isFinal: boolean } {
  const start = bytes.toString("latin1", 0, STATUS_BYTES);
  if (!"HTTP/1.".startsWith(start.slice(0, 7))) return { rest: bytes, isFinal: true };
  if (start.length < STATUS_BYTES) return { rest: bytes, isFinal: false };
  // 101 would switch protocols, which was not requested: an error.
  if (!/^HTTP\/1\.\d 1(?!01)\d\d$/.test(start)) return { rest: bytes, isFinal: true };
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return { rest: bytes, isFinal: bytes.length > LONGEST_HEAD_BYTES };
  return withoutInterim(bytes.subarray(end + 4));
}
