import type { PassThrough } from "node:stream";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";

/** The client's end of two pipes. */
export class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #from: PassThrough;
  readonly #to: PassThrough;

  constructor(from: PassThrough, to: PassThrough) {
    this.#from = from;
    this.#to = to;
  }

  async start(): Promise<void> {
    const buffer = new ReadBuffer();
    this.#from.on("data", (chunk: Buffer) => {
      buffer.append(chunk);
      for (let next = buffer.readMessage(); next !== null; next = buffer.readMessage())
        this.onmessage?.(next);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#to.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.#to.end();
    this.onclose?.();
  }
}
