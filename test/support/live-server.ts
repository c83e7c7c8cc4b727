import { createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Certificate } from "./certificate.ts";
import {
  type Answer,
  listenHere,
  type ScriptedServer,
  type ServiceScript,
  scriptedServer,
  scriptedService,
} from "./scripted-server.ts";

/** A scripted server that is gone after the test. */
export function liveServer(answer: Answer): Promise<ScriptedServer> {
  return closedAfterTest(scriptedServer(answer));
}

/** A scripted service that is gone after the test. */
export function liveService(
  image: Buffer,
  script?: ServiceScript,
  certificate?: Certificate,
): Promise<ScriptedServer> {
  return closedAfterTest(scriptedService(image, script, certificate));
}

async function closedAfterTest(starting: Promise<ScriptedServer>): Promise<ScriptedServer> {
  const server = await starting;
  onTestFinished(() => server.close());
  return server;
}

/** Listens on loopback with raw sockets, until the test is over. @returns the port */
export function liveSockets(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    onConnection(socket);
  });
  return listenForTest(server);
}

/** Lets any server listen on loopback until the test is over. @returns the port */
export async function listenForTest(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const port = await listenHere(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return port;
}

/** A port of this machine without a listener. */
export async function deadPort(): Promise<number> {
  const server = createServer();
  const port = await listenHere(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
