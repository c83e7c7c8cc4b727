import { connect, type Socket } from "node:net";
import { liveSockets } from "./live-server.ts";

/** What it does with a request: open the tunnel, or something worse. */
export type ProxyBehaviour = "tunnel" | "refuse" | "hang up" | "keep silent";

/**
 * Serves as a proxy on loopback, by CONNECT alone, until the test is over. Every target leads to 127.0.0.1.
 * @param to the port there. Default: the target's own
 * @returns its URL, and the heads of all requests made to the proxy itself, as they came
 */
export async function tunnelProxy(behaviour: ProxyBehaviour, to?: number) {
  const heads: string[] = [];
  const port = await liveSockets((socket) => {
    let head = "";
    const onData = (bytes: Buffer) => {
      head += bytes.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", onData);
      heads.push(head);
      answer(behaviour, head, socket, to);
    };
    socket.on("data", onData);
  });
  return { url: `http://127.0.0.1:${port}`, heads };
}

function answer(behaviour: ProxyBehaviour, head: string, socket: Socket, to: number | undefined): void {
  const asked = Number(/^CONNECT [^ ]+:(\d+) HTTP\/1\.1\r\n/.exec(head)?.[1]);
  const port = Number.isNaN(asked) ? asked : (to ?? asked);
  if (behaviour === "hang up") socket.destroy();
  else if (behaviour === "refuse" || Number.isNaN(port)) {
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
  } else if (behaviour === "tunnel") {
    const target = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(target).pipe(socket);
    });
    target.on("error", () => socket.destroy());
    socket.on("close", () => target.destroy());
  }
}
