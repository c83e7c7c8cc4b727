import { createServer, type Server, type Socket } from "node:net";

/** Serves raw sockets on loopback, so that a double decides what each byte of a reply does. */
export class SocketServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(serve: (socket: Socket) => void) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {});
      serve(socket);
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get origin(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  }
}
