import {
  deserializeMessage,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";
import { idAtEnds, messageLines } from "./message-lines.ts";

/** Where messages come from and go to, a line each. */
export interface Lines {
  input: AsyncIterable<Buffer | string>;
  /** @returns false once the client is gone */
  write(message: object): Promise<boolean>;
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
  /** The batches that requests came in, by their ids. */
  readonly #batches = new Map<RequestId, Batch>();
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
    const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    const id = isAnswer ? message.id : undefined;
    const batch = id === undefined ? undefined : this.#batches.get(id);
    if (batch === undefined) await this.#write(message);
    else batch.answers.push(message);
    if (id === undefined) return;
    await this.#leaveBatch(id);
    this.#settle(id);
  }

  async #write(message: object): Promise<void> {
    if (!(await this.#lines.write(message))) this.#end();
  }

  /** A request of a batch is answered, or cancelled: the answers go out together, after the last. */
  async #leaveBatch(id: RequestId): Promise<void> {
    const batch = this.#batches.get(id);
    if (batch === undefined) return;
    this.#batches.delete(id);
    batch.open.delete(id);
    if (batch.open.size === 0 && batch.answers.length > 0) await this.#write(batch.answers);
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
    for await (const line of messageLines(this.#lines.input)) {
      if ("text" in line) this.#deliver(line.text);
      else await this.#refuse(idAtEnds(line));
    }
  }

  async #refuse(id: RequestId | null): Promise<void> {
    const message = "The line is longer than 10 MiB, and was not read. Nothing was done.";
    await this.#write(invalidRequest(id, message));
  }

  /** A line that is no message is passed over: it has no id that an answer could name. */
  #deliver(text: string): void {
    const batch = text.trimStart().startsWith("[") ? jsonOrNull(text) : null;
    if (Array.isArray(batch)) this.#deliverBatch(batch);
    else this.#deliverOne(text);
  }

  /** Protocol version 2025-03-26 has batches. Their answers are one array; notifications have none. */
  #deliverBatch(messages: readonly unknown[]): void {
    if (messages.length === 0) void this.#write(invalidRequest(null, "The batch is empty."));
    const batch: Batch = { open: new Set(), answers: [] };
    for (const message of messages) {
      const { id, method } = fieldsOf(message);
      if ((typeof id !== "string" && typeof id !== "number") || typeof method !== "string") continue;
      batch.open.add(id);
      this.#batches.set(id, batch);
    }
    for (const message of messages) {
      const isDelivered = this.#deliverOne(JSON.stringify(message));
      // Nobody will answer it, and the other answers must not wait for it.
      if (!isDelivered) void this.#leaveBatch(fieldsOf(message).id as RequestId);
    }
  }

  /** @returns whether it was a message */
  #deliverOne(text: string): boolean {
    try {
      const message = deserializeMessage(withoutNullParams(text));
      if (isJSONRPCRequest(message)) this.#unanswered.add(message.id);
      else if ("method" in message && message.method === "notifications/cancelled")
        this.#cancel(message.params?.requestId);
      this.onmessage?.(message);
      return true;
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      this.onerror?.(
        new Error("A line on standard input was no MCP message, and was ignored.", { cause: error }),
      );
      return false;
    }
  }

  /** A cancelled request gets no answer. */
  #cancel(id: unknown): void {
    void this.#leaveBatch(id as RequestId);
    this.#settle(id);
  }

  #settle(id: unknown): void {
    this.#unanswered.delete(id as RequestId);
    this.#wake();
  }
}

/** Requests that came together, and what was answered to them so far. */
interface Batch {
  open: Set<RequestId>;
  answers: JSONRPCMessage[];
}

function invalidRequest(id: RequestId | null, message: string): object {
  return { jsonrpc: "2.0", id, error: { code: ProtocolErrorCode.InvalidRequest, message } };
}

/** Some clients send null for parameters and arguments that they leave out; the protocol knows no null there. */
function withoutNullParams(text: string): string {
  if (!/"(?:params|arguments)"\s*:\s*null/.test(text)) return text;
  const message = jsonOrNull(text);
  if (!isJsonObject(message)) return text;
  const { params, ...rest } = message;
  if (params === null) return JSON.stringify(rest);
  if (!isJsonObject(params) || params.arguments !== null) return text;
  const { arguments: _none, ...others } = params;
  return JSON.stringify({ ...rest, params: others });
}
