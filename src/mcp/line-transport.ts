import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  ReadBuffer,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";

/** Where messages come from and go to, a line each. */
export interface Lines {
  input: AsyncIterable<Buffer | string>;
  /** @returns false once the client is gone */
  write(message: JSONRPCMessage): Promise<boolean>;
}

/** MCP messages over a pair of pipes. It knows which requests are still to be answered. */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when the client has closed either pipe. */
  readonly ended: Promise<void>;
  readonly #lines: Lines;
  readonly #unanswered = new Set<RequestId>();
  #isOver = false;
  #end: () => void = () => {};
  #wake: () => void = () => {};

  constructor(lines: Lines) {
    this.#lines = lines;
    this.ended = new Promise((resolve) => {
      this.#end = () => {
        this.#isOver = true;
        resolve();
      };
    });
  }

  async start(): Promise<void> {
    void this.#read().catch(this.#readFailed).then(this.#end);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isRead = await this.#lines.write(message);
    if ((isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) && message.id !== undefined)
      this.#settle(message.id);
    if (!isRead) this.#end();
  }

  async close(): Promise<void> {
    this.#end();
    this.onclose?.();
  }

  /** Resolves once every request that came is answered, or cancelled. */
  async answered(): Promise<void> {
    while (this.#unanswered.size > 0) await new Promise<void>((wake) => (this.#wake = wake));
  }

  /** Input that is closed once all is over fails too. */
  readonly #readFailed = (error: Error) => {
    if (!this.#isOver) this.onerror?.(error);
  };

  async #read(): Promise<void> {
    const buffer = new ReadBuffer();
    for await (const chunk of this.#lines.input) {
      buffer.append(Buffer.from(chunk));
      this.#deliver(buffer);
    }
  }

  /** A line that is no message is passed over: it has no id that an answer could name. */
  #deliver(buffer: ReadBuffer): void {
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return;
        if (isJSONRPCRequest(message)) this.#unanswered.add(message.id);
        else if ("method" in message && message.method === "notifications/cancelled")
          this.#settle(message.params?.requestId);
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(
          new Error("A line on standard input was no MCP message, and was ignored.", { cause: error }),
        );
      }
    }
  }

  #settle(id: unknown): void {
    this.#unanswered.delete(id as RequestId);
    this.#wake();
  }
}
