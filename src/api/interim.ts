import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** A head that is longer is left to the HTTP library, which refuses it. */
const LONGEST_HEAD_BYTES = 16_384;

/** As many bytes as it takes to tell a status: `HTTP/1.1 100`. */
const STATUS_BYTES = 12;

/**
 * A connector whose connections leave out interim responses (`100 Continue` and the other 1xx) before the first final
 * one. A client has to accept them unasked (RFC 9110, section 15.2), but undici takes `100 Continue` for an error, and
 * with it the task id that comes next would be lost. A submit's connection carries one response. On connections that
 * carry more, an interim response to a later request is still an error: polls and downloads are tried again.
 */
export function skippingInterim(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result: buildConnector.CallbackArgs) => {
      const [, socket] = result;
      if (socket) skipInterim(socket);
      callback(...result);
    });
}

/** undici takes what came with `read()`: until a final response begins, what that gives is looked through. */
function skipInterim(socket: Socket): void {
  const read = socket.read.bind(socket);
  let held: Buffer = Buffer.alloc(0);
  socket.read = () => {
    for (let chunk: Buffer | null = read(); chunk !== null; chunk = read()) {
      const { rest, isFinal } = withoutInterim(Buffer.concat([held, chunk]));
      if (isFinal) {
        Reflect.deleteProperty(socket, "read");
        return rest;
      }
      held = rest;
    }
    return null;
  };
}

/** What is left after the interim responses at the beginning, and whether it is certain that it is none. */
function withoutInterim(bytes: Buffer): { rest: Buffer; isFinal: boolean } {
  const start = bytes.toString("latin1", 0, STATUS_BYTES);
  if (!"HTTP/1.".startsWith(start.slice(0, 7))) return { rest: bytes, isFinal: true };
  if (start.length < STATUS_BYTES) return { rest: bytes, isFinal: false };
  // 101 would change the protocol, which nobody has asked for: that is an error.
  if (!/^HTTP\/1\.\d 1(?!01)\d\d$/.test(start)) return { rest: bytes, isFinal: true };
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return { rest: bytes, isFinal: bytes.length > LONGEST_HEAD_BYTES };
  return withoutInterim(bytes.subarray(end + 4));
}
