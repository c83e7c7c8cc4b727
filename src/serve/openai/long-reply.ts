import type { ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import type { OpenAiError } from "./openai-error.ts";
import type { ImagesOperation } from "./order.ts";
import type { ImagesResult } from "./result.ts";

/** How often something is sent, in milliseconds, so that no proxy takes the connection for an idle one. */
const ALIVE_MS = 10_000;

/** A reply that is under way for as long as its image takes. */
export abstract class LongReply {
  protected readonly outgoing: ServerResponse;
  readonly #taskId: string;

  constructor(outgoing: ServerResponse, taskId: string) {
    this.outgoing = outgoing;
    this.#taskId = taskId;
  }

  /** Keeps the connection alive while something is awaited. */
  async whileAlive<Result>(clock: Pick<Clock, "sleep">, work: () => Promise<Result>): Promise<Result> {
    const over = new AbortController();
    void this.#showLife(clock, over.signal).catch(() => {});
    try {
      return await work();
    } finally {
      over.abort();
    }
  }

  async #showLife(clock: Pick<Clock, "sleep">, signal: AbortSignal): Promise<never> {
    for (;;) {
      await clock.sleep(ALIVE_MS, signal);
      this.begin(200);
      this.outgoing.write(this.sign);
    }
  }

  /** Text that keeps the connection alive, and that the client ignores. */
  protected abstract readonly sign: string;
  protected abstract readonly mediaType: string;

  /** Ends the reply with the images. @returns the HTTP status */
  abstract send(result: ImagesResult): number;

  /** Ends the reply with an error. @returns the HTTP status, which may have been sent before */
  abstract fail(error: OpenAiError): number;

  /** Sends the head, unless it was sent. @returns the status that was sent */
  protected begin(status: number, headers: Record<string, string> = {}): number {
    const { outgoing } = this;
    if (!outgoing.headersSent)
      outgoing.writeHead(status, {
        "Content-Type": this.mediaType,
        "Cache-Control": "no-store",
        "X-Request-Id": this.#taskId,
        ...headers,
      });
    return outgoing.statusCode;
  }
}

/** The reply as one JSON document, after white space while it is awaited. */
export class JsonReply extends LongReply {
  protected readonly sign = " \n";
  protected readonly mediaType = "application/json";

  send(result: ImagesResult): number {
    const status = this.begin(200);
    this.outgoing.end(JSON.stringify(result));
    return status;
  }

  fail({ status, error }: OpenAiError): number {
    const sent = this.begin(status, { "x-should-retry": "false" });
    this.outgoing.end(JSON.stringify({ error }));
    return sent;
  }
}

/** The reply as server-sent events: one for each image. */
export class EventStream extends LongReply {
  protected readonly sign = ": keep-alive\n\n";
  protected readonly mediaType = "text/event-stream";
  readonly #operation: ImagesOperation;

  constructor(outgoing: ServerResponse, taskId: string, operation: ImagesOperation) {
    super(outgoing, taskId);
    this.#operation = operation;
    this.begin(200);
    outgoing.flushHeaders();
  }

  send({ created, data, ...facts }: ImagesResult): number {
    const type = `${this.#operation}.completed`;
    for (const image of data) this.#event(type, { type, ...image, created_at: created, ...facts });
    this.outgoing.end();
    return 200;
  }

  fail({ error }: OpenAiError): number {
    this.#event("error", { type: "error", error });
    this.outgoing.end();
    return 200;
  }

  #event(name: string, data: object): void {
    this.outgoing.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}
