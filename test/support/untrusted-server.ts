import { createServer, type Server } from "node:tls";
import { selfSigned } from "./certificate.ts";

/** A TLS server with an untrusted certificate, not listening yet, and everything that was sent to it over TLS. */
export function untrustedServer(): { server: Server; heard: Buffer[] } {
  const heard: Buffer[] = [];
  const server = createServer(selfSigned("localhost"), (socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => heard.push(bytes));
  });
  return { server, heard };
}
