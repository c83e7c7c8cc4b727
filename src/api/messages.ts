import type { Socket } from "node:net";
import undici from "undici/lib/web/websocket/websocket.js";
import { type ConnectOptions, connector } from "./connect.ts";
import { getPool } from "./shared-connections.ts";

// Loaded only where there is something to listen to: undici's WebSocket brings its fetch along.

/** The pictures on the way to an image, which come as messages too, are smaller. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface ListenOptions extends ConnectOptions {
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Called with each message that is a text. What it throws is lost. */
  onText: (text: string) => void;
  /** Called with each binary message. */
  onBytes?: ((bytes: Buffer) => void) | undefined;
}

/** Listens to a WebSocket until the signal, or until its other side ends it. Never throws. @param url http: or https: */
export async function listen(
  url: URL,
  { headers, signal, onText, onBytes, ...connect }: ListenOptions,
): Promise<void> {
  const sockets = new Set<Socket>();
  const open = connector(connect);
  const trackedConnect: typeof open = async (target, until) => {
    const socket = await open(target, until);
    sockets.add(socket);
    return socket;
  };
  const limits = { webSocket: { maxPayloadSize: MAX_BYTES } };
  const dispatcher = getPool(url.origin, trackedConnect, signal, limits);
  const address = new URL(url.href);
  address.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  try {
    signal.throwIfAborted();
    await new Promise<void>((resolve) => {
      const messages = new undici.WebSocket(address, { headers, dispatcher });
      messages.binaryType = "arraybuffer";
      messages.addEventListener("message", ({ data }) => {
        if (typeof data === "string") onText(data);
        else onBytes?.(Buffer.from(data));
      });
      messages.addEventListener("error", () => resolve());
      messages.addEventListener("close", () => resolve());
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  } catch {
    // What it says is never needed.
  } finally {
    // A closing handshake would be waited for.
    for (const socket of sockets) socket.destroy();
    await dispatcher.destroy().catch(() => {});
  }
}
