import { once } from "node:events";
import { createServer, type Server } from "node:http";

const LOOPBACK = "127.0.0.1";

/** Limits for slow or idle clients, because every client occupies one of the connections. */
const MAX_HEAD_MS = 5_000;
const MAX_REQUEST_MS = 30_000;
const MAX_IDLE_MS = 60_000;
const CHECK_MS = 1_000;
const MAX_CONNECTIONS = 2_000;

export interface LoopbackServer {
  server: Server;
  port: number;
  /** `http://127.0.0.1:<port>` */
  origin: string;
  close(): Promise<void>;
}

/** @param port 0 for any unused port @throws the system's error if the port is in use */
export async function listenOnLoopback(port: number): Promise<LoopbackServer> {
  const server = createServer({
    headersTimeout: MAX_HEAD_MS,
    requestTimeout: MAX_REQUEST_MS,
    connectionsCheckingInterval: CHECK_MS,
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(MAX_IDLE_MS);
  server.listen(port, LOOPBACK);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no address");
  return {
    server,
    port: address.port,
    origin: `http://${LOOPBACK}:${address.port}`,
    close: () => close(server),
  };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
