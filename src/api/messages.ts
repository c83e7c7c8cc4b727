import type { Socket } from "node:net";
import undici from "undici/lib/web/websocket/websocket.js";
import { type ConnectOptions, connector } from "./connect.ts";
import { getPool } from "./shared-connections.ts";

// Import this file only when needed, because undici's WebSocket also loads undici's fetch.

/** Maximum size of a message, larger than any preview frame. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface ListenOptions extends ConnectOptions {
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Called with each text message. Must not throw, because an exception would end the process. */
  onText: (text: string) => void;
  onBytes?: ((bytes: Buffer) => void) | undefined;
}

/** Receives messages until the signal aborts or the connection ends. Never throws. @param url http: or https: */
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
    // The caller does not need the reason of a failure.
  } finally {
    // The sockets are destroyed without a closing handshake, because waiting for the handshake would delay the caller.
    for (const socket of sockets) socket.destroy();
    await dispatcher.destroy().catch(() => {});
  }
}
