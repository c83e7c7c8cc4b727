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

/** A request as far as its head. */
export interface RequestHead {
  method: string;
  target: string;
  header(name: string): string | undefined;
}

/**
 * Reads a connection's requests one after the other.
 * @param isOver called with a request's head, again with each piece that follows it; where it says so, nothing else is read
 * @param serve called with each whole request
 */
export function readRequests(
  socket: Socket,
  isOver: (head: RequestHead) => boolean,
  serve: (head: RequestHead, body: string) => void,
): void {
  let buffered = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    const end = buffered.indexOf("\r\n\r\n");
    if (end === -1) return;
    const text = buffered.subarray(0, end).toString("latin1");
    const [method = "", target = ""] = text.split(" ");
    const header = (name: string) => new RegExp(`^${name}: *(\\S+)$`, "im").exec(text)?.[1];
    const head = { method, target, header };
    if (isOver(head)) return;
    const next = end + 4 + Number(header("content-length") ?? 0);
    if (buffered.length < next) return;
    const body = buffered.subarray(end + 4, next).toString("utf8");
    buffered = buffered.subarray(next);
    serve(head, body);
  });
}
