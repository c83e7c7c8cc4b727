import { createServer, type Server } from "node:tls";
import { selfSigned } from "./certificate.ts";

/** A TLS server that nobody trusts, not listening yet, and all that was said to it once encrypted. */
export function untrustedServer(): { server: Server; heard: Buffer[] } {
  const heard: Buffer[] = [];
  const server = createServer(selfSigned("localhost"), (socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => heard.push(bytes));
  });
  return { server, heard };
}
