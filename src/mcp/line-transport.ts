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

export interface LineStreams {
  input: AsyncIterable<Buffer | string>;
  /** @returns false if the client has disconnected */
  write(message: object): Promise<boolean>;
}

interface Batch {
  /** Whether the line was an array (protocol version 2025-03-26), so that the answers must be one array too. */
  isArray: boolean;
  unanswered: number;
  answers: JSONRPCMessage[];
}

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly closed: Promise<void>;
  readonly #lines: LineStreams;
  readonly #pending = new Map<unknown, Batch>();
  #isClosed = false;
  #markClosed: () => void = () => {};
  #wake: () => void = () => {};

  constructor(lines: LineStreams) {
    this.#lines = lines;
    this.closed = new Promise((resolve) => {
      this.#markClosed = () => {
        this.#isClosed = true;
        resolve();
      };
    });
  }

  async start(): Promise<void> {
    // Ignores a failure of the input after `close`, because closing causes this failure.
    const onFailure = (error: Error) => void (this.#isClosed || this.onerror?.(error));
    void this.#read().catch(onFailure).then(this.#markClosed);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    if (isAnswer && this.#pending.has(message.id)) await this.#settle(message.id, message);
    else await this.#write(message);
  }

  async close(): Promise<void> {
    this.#markClosed();
    this.onclose?.();
  }

  async waitUntilAnswered(): Promise<void> {
    while (this.#pending.size > 0) await new Promise<void>((wake) => (this.#wake = wake));
  }

  async #write(message: object): Promise<void> {
    if (!(await this.#lines.write(message))) this.#markClosed();
  }

  /** A cancelled request has no answer. A batch is answered after its last request ends. */
  async #settle(id: unknown, answer?: JSONRPCMessage): Promise<void> {
    const batch = this.#pending.get(id);
    if (batch === undefined) return;
    batch.unanswered -= 1;
    if (answer !== undefined) batch.answers.push(answer);
    const [first] = batch.answers;
    if (batch.unanswered === 0 && first !== undefined)
      await this.#write(batch.isArray ? batch.answers : first);
    this.#pending.delete(id);
    this.#wake();
  }

  async #read(): Promise<void> {
    for await (const line of splitLines(this.#lines.input)) {
      if ("text" in line) this.#deliver(jsonOrNull(line.text));
      else
        await this.#refuse(
          "The line is longer than 10 MiB, and was not read. Nothing was done.",
          findIdAtEnds(line),
        );
    }
  }

  async #refuse(message: string, id: RequestId | null = null): Promise<void> {
    await this.#write({ jsonrpc: "2.0", id, error: { code: ProtocolErrorCode.InvalidRequest, message } });
  }

  /** A line that is not JSON is ignored, because an answer would need the id of a request. */
  #deliver(json: unknown): void {
    const isArray = Array.isArray(json);
    if (isArray && json.length === 0) void this.#refuse("The batch is empty.");
    const entries: unknown[] = isArray ? json : json === null ? [] : [json];
    const messages = entries.map((each) => this.#messageFrom(each)).filter((each) => each !== null);
    const requests = messages.filter(isJSONRPCRequest);
    const batch: Batch = { isArray, unanswered: requests.length, answers: [] };
    for (const { id } of requests) this.#pending.set(id, batch);
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
      const message = "A line on standard input was not an MCP message, and was ignored.";
      this.onerror?.(new Error(message, { cause }));
      return null;
    }
  }
}

/** Some clients send null for omitted parameters, which the protocol forbids. */
function withoutNullParams(json: unknown): unknown {
  if (!isJsonObject(json)) return json;
  const { params, ...rest } = json;
  if (params === null) return rest;
  if (!isJsonObject(params) || params.arguments !== null) return json;
  const { arguments: _none, ...otherParams } = params;
  return { ...rest, params: otherParams };
}

const MAX_LINE_BYTES = 10 * 1024 * 1024;

/** Number of bytes to keep at each end of a line that is too long, to find the id of its request. */
const END_BYTES = 1024;

type Line = { text: string } | { start: string; end: string };

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
        const bufferedLine = Buffer.concat(parts);
        start ??= bufferedLine.toString("utf8", 0, END_BYTES);
        parts = [Buffer.from(bufferedLine.subarray(-END_BYTES))];
      }
      if (at === -1) continue;
      const text = Buffer.concat(parts).toString("utf8");
      yield start === null ? { text } : { start, end: text };
      [parts, bytes, start] = [[], 0, null];
    }
  }
}

const ID_VALUE = String.raw`(\d{1,15}|"[^"\\]{0,200}")`;
const ID_AT_START = new RegExp(
  String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*${ID_VALUE}\s*,`,
);
const ID_AT_END = new RegExp(String.raw`,\s*"id"\s*:\s*${ID_VALUE}\s*\}\s*$`);

/** Returns the id of a request if the id is the first or last field; otherwise null. */
function findIdAtEnds({ start, end }: { start: string; end: string }): RequestId | null {
  const value = (ID_AT_START.exec(start) ?? ID_AT_END.exec(end))?.[1];
  return value === undefined ? null : JSON.parse(value);
}
