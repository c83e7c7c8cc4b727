import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { isJsonObject, jsonOrNull } from "../lib/json.ts";

/** A pair of streams with one message per line. */
export interface Lines {
  input: AsyncIterable<Buffer | string>;
  /** @returns false once the client is gone */
  write(message: object): Promise<boolean>;
}

/** Requests of one line, and the answers so far. */
interface Batch {
  /** Whether they came as an array (protocol version 2025-03-26): the answers are then one array, too. */
  isArray: boolean;
  unanswered: number;
  answers: JSONRPCMessage[];
}

/** MCP messages over a pair of pipes. It knows which requests are still to be answered. */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when the client has closed either pipe. */
  readonly closed: Promise<void>;
  readonly #lines: Lines;
  /** Batches with unanswered requests. */
  readonly #open = new Map<unknown, Batch>();
  #isOver = false;
  #end: () => void = () => {};
  #wake: () => void = () => {};

  constructor(lines: Lines) {
    this.#lines = lines;
    this.closed = new Promise((resolve) => {
      this.#end = () => {
        this.#isOver = true;
        resolve();
      };
    });
  }

  async start(): Promise<void> {
    // Closed input fails after the end as well.
    const onFailure = (error: Error) => void (this.#isOver || this.onerror?.(error));
    void this.#read().catch(onFailure).then(this.#end);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    if (isAnswer && this.#open.has(message.id)) await this.#settle(message.id, message);
    else await this.#write(message);
  }

  async close(): Promise<void> {
    this.#end();
    this.onclose?.();
  }

  /** Resolves once every request that came is answered, or cancelled. */
  async answered(): Promise<void> {
    while (this.#open.size > 0) await new Promise<void>((wake) => (this.#wake = wake));
  }

  async #write(message: object): Promise<void> {
    if (!(await this.#lines.write(message))) this.#end();
  }

  /** Ends a request with its answer, or without one if it was cancelled. A batch is answered after its last request. */
  async #settle(id: unknown, answer?: JSONRPCMessage): Promise<void> {
    const batch = this.#open.get(id);
    if (batch === undefined) return;
    batch.unanswered -= 1;
    if (answer !== undefined) batch.answers.push(answer);
    const [first] = batch.answers;
    if (batch.unanswered === 0 && first !== undefined)
      await this.#write(batch.isArray ? batch.answers : first);
    this.#open.delete(id);
    this.#wake();
  }

  async #read(): Promise<void> {
    for await (const line of splitLines(this.#lines.input)) {
      if ("text" in line) this.#deliver(jsonOrNull(line.text));
      else
        await this.#refuse(
          "The line is longer than 10 MiB, and was not read. Nothing was done.",
          idAtEnds(line),
        );
    }
  }

  async #refuse(message: string, id: RequestId | null = null): Promise<void> {
    await this.#write({ jsonrpc: "2.0", id, error: { code: ProtocolErrorCode.InvalidRequest, message } });
  }

  /** Ignores a line that is not JSON: it has no id to answer. */
  #deliver(json: unknown): void {
    const isArray = Array.isArray(json);
    if (isArray && json.length === 0) void this.#refuse("The batch is empty.");
    const entries: unknown[] = isArray ? json : json === null ? [] : [json];
    const messages = entries.map((each) => this.#messageFrom(each)).filter((each) => each !== null);
    const requests = messages.filter(isJSONRPCRequest);
    const batch: Batch = { isArray, unanswered: requests.length, answers: [] };
    for (const { id } of requests) this.#open.set(id, batch);
    for (const message of messages) {
      if ("method" in message && message.method === "notifications/cancelled")
        void this.#settle(message.params?.requestId);
      this.onmessage?.(message);
    }
  }

  #messageFrom(json: unknown): JSONRPCMessage | null {
    try {
      return parseJSONRPCMessage(withoutNullParams(json));
    } catch (cause) {
      const message = "A line on standard input was no MCP message, and was ignored.";
      this.onerror?.(new Error(message, { cause }));
      return null;
    }
  }
}

/** Some clients send null for omitted parameters and arguments, which the protocol forbids. */
function withoutNullParams(json: unknown): unknown {
  if (!isJsonObject(json)) return json;
  const { params, ...rest } = json;
  if (params === null) return rest;
  if (!isJsonObject(params) || params.arguments !== null) return json;
  const { arguments: _none, ...others } = params;
  return { ...rest, params: others };
}

/** Maximum length of a line, in bytes. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;

/** Enough of each end of a longer line to hold the id of its request, in bytes. */
const END_BYTES = 1024;

/** A line, or both ends of one that is too long. */
type Line = { text: string } | { start: string; end: string };

/** Splits input into lines. A line that is too long takes no memory. */
async function* splitLines(input: AsyncIterable<Buffer | string>): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let bytes = 0;
  let start: string | null = null;
  for await (const chunk of input) {
    let rest = Buffer.from(chunk);
    for (let at = 0; at !== -1; rest = rest.subarray(at + 1)) {
      at = rest.indexOf("\n");
      const part = at === -1 ? rest : rest.subarray(0, at);
      parts.push(part);
      bytes += part.length;
      if (bytes > MAX_LINE_BYTES) {
        const whole = Buffer.concat(parts);
        start ??= whole.toString("utf8", 0, END_BYTES);
        parts = [Buffer.from(whole.subarray(-END_BYTES))];
      }
      if (at === -1) continue;
      const text = Buffer.concat(parts).toString("utf8");
      yield start === null ? { text } : { start, end: text };
      [parts, bytes, start] = [[], 0, null];
    }
  }
}

const VALUE = String.raw`(\d{1,15}|"[^"\\]{0,200}")`;
const FIRST = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*${VALUE}\s*,`);
const LAST = new RegExp(String.raw`,\s*"id"\s*:\s*${VALUE}\s*\}\s*$`);

/** The id of a request from its ends; null if it is elsewhere. */
function idAtEnds({ start, end }: { start: string; end: string }): RequestId | null {
  const value = (FIRST.exec(start) ?? LAST.exec(end))?.[1];
  return value === undefined ? null : JSON.parse(value);
}
