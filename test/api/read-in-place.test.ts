import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Open } from "../../src/api/connect.ts";
import { readInPlace } from "../../src/api/read-in-place.ts";
import { selfSigned } from "../support/certificate.ts";
import { listenForTest, liveSockets } from "../support/live-server.ts";
import { pause } from "../support/scripts.ts";

const BYTES = randomBytes(3_000_000);

type Serve = (socket: Socket) => void;

/** How a connection without TLS, and one with it, is opened to a server that does this. */
const TRANSPORTS: Readonly<Record<string, (serve: Serve) => Promise<Open>>> = {
  async plain(serve) {
    const port = await liveSockets(serve);
    return (onread) => connectTcp({ host: "127.0.0.1", port, onread });
  },
  async encrypted(serve) {
    const server = createTlsServer(selfSigned("localhost"), (socket) => {
      socket.on("error", () => {});
      serve(socket);
    });
    const port = await listenForTest(server);
    return (onread) => connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...{ onread } });
  },
};

async function opened(transport: string, serve: Serve): Promise<Socket> {
  const open = await TRANSPORTS[transport]?.(serve);
  if (open === undefined) throw new Error(`no transport ${transport}`);
  const socket = readInPlace(open);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Takes all that is there at each `readable` event, but only while `wants` says so; until the connection ends. */
async function received(socket: Socket, wants: () => boolean): Promise<{ bytes: Buffer; memories: number }> {
  const pieces: Buffer[] = [];
  const memories = new Set<ArrayBufferLike>();
  const take = () => {
    while (wants()) {
      const piece: Buffer | null = socket.read();
      if (piece === null) break;
      memories.add(piece.buffer);
      pieces.push(Buffer.from(piece));
    }
  };
  socket.on("readable", take);
  const timer = setInterval(take, 5);
  await once(socket, "end");
  clearInterval(timer);
  return { bytes: Buffer.concat(pieces), memories: memories.size };
}

describe.each(Object.keys(TRANSPORTS))("a connection (%s) that is read in place", (transport) => {
  it("gives every byte once, all in the same memory, to a reader that takes them at once", async () => {
    const socket = await opened(transport, (peer) => void peer.end(BYTES));
    const { bytes, memories } = await received(socket, () => true);
    expect(bytes.equals(BYTES)).toBe(true);
    expect(memories).toBe(1);
  });

  it("keeps what a reader does not take yet, in its order, until the reader comes for it", async () => {
    const socket = await opened(transport, (peer) => void peer.end(BYTES));
    let asked = 0;
    const { bytes } = await received(socket, () => asked++ % 3 !== 0);
    expect(bytes.equals(BYTES)).toBe(true);
  });

  it("gives what waits before what has just arrived", async () => {
    const pieces = Array.from({ length: 200 }, (_, index) => `${index} `);
    const socket = await opened(transport, async (peer) => {
      for (const piece of pieces) {
        peer.write(piece);
        await pause(1);
      }
      peer.end();
    });
    let asked = 0;
    const { bytes } = await received(socket, () => asked++ % 5 === 4);
    expect(bytes.toString()).toBe(pieces.join(""));
  });

  it("keeps what arrives before there is a reader", async () => {
    const socket = await opened(transport, async (peer) => {
      for (const piece of ["one, ", "two, ", "three"]) {
        peer.write(piece);
        await pause(20);
      }
      peer.end();
    });
    await pause(150);
    const { bytes } = await received(socket, () => true);
    expect(bytes.toString()).toBe("one, two, three");
  });

  it("lets the sender wait while nobody reads", async () => {
    let sent = 0;
    const socket = await opened(transport, (peer) => {
      const chunk = Buffer.alloc(1024 * 1024);
      const more = () => {
        sent += 1;
        if (sent < 200) peer.write(chunk, more);
      };
      more();
    });
    await pause(300);
    expect(socket.readableLength).toBeLessThan(1024 * 1024);
    expect(sent).toBeLessThan(100);
  });
});
