import type { Socket } from "node:net";
import { liveSockets } from "./live-server.ts";
import { json } from "./scripted-server.ts";

/** A server that answers every request, and shows its connections. @param greet what it does with the first */
export async function answeringServer(greet: (socket: Socket) => void = () => {}) {
  const sockets: Socket[] = [];
  const port = await liveSockets((socket) => {
    if (sockets.push(socket) === 1) greet(socket);
    socket.on("data", () => socket.write(json({})));
  });
  return { sockets, origin: `http://127.0.0.1:${port}` };
}
