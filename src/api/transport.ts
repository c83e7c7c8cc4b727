import { formatDuration } from "../lib/duration.ts";

/** A body that is produced while it is sent, so that little of it is in memory. */
export interface StreamedBody {
  /** The length in bytes, which the receiver is told first. */
  readonly bytes: number;
  /** An error ends the request before its body is whole. */
  chunks(): AsyncIterable<Buffer>;
}

export interface HttpRequest {
  /** A POST or a PUT gets a connection of its own, which carries no other request, neither before nor after. */
  method: "GET" | "HEAD" | "POST" | "PUT";
  url: URL;
  headers?: Record<string, string>;
  /** Only for POST and PUT. */
  body?: string | Buffer | StreamedBody;
  /** The whole exchange, connection and body included, may take this long. */
  timeoutMs?: number;
  /** No byte for this long ends the exchange. */
  idleTimeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Called at the last moment before the first byte leaves. */
  onSent?: (() => void) | undefined;
}

/** Receives a file's bytes as they arrive, and may keep the chunks. */
export interface ByteSink {
  write(chunk: Buffer): void;
}

/** Receives a request's reply as it arrives, and may keep the chunks. An exception ends the exchange. */
export interface ReplyReceiver {
  onHead(status: number, headers: ReplyHeaders): void;
  onData(chunk: Buffer): void;
}

export type ReplyHeaders = Record<string, string | string[] | undefined>;

/**
 * An exchange that did not complete. Thrown by the HTTP client and by a probe; elsewhere it is a `cause`.
 * `timedOut` says that it was given up; `wasSent` is false only if it is certain that not one byte of the request left: the connection was never
 * made, or the request was withdrawn before its headers were written.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly wasSent: boolean;
  readonly timedOut: boolean;

  constructor(message: string, facts: { wasSent: boolean; timedOut?: boolean; cause?: unknown }) {
    super(message, { cause: facts.cause });
    this.wasSent = facts.wasSent;
    this.timedOut = facts.timedOut ?? false;
  }
}

/** A request as it is sent. */
export interface OutgoingRequest extends Pick<HttpRequest, "url" | "method"> {
  headers: Record<string, string>;
  body: string | Buffer | StreamedBody | null;
}

/** Sends requests, and calls their exchanges at each step. */
export interface Sender {
  dispatch(request: OutgoingRequest, exchange: Exchange): void;
  /** Drops every connection, used, idle or not made yet. */
  destroy(): Promise<void>;
}

/** Control of a running request. */
interface Control {
  abort(error: Error): void;
}

/** One running request. What sends it calls this at each step, as undici does; it decides what counts as sent. */
export class Exchange {
  #request: HttpRequest;
  #receiver: ReplyReceiver;
  #resolve: () => void;
  #reject: (error: TransportError) => void;
  #control: Control | null = null;
  #failure: TransportError | null = null;
  #timer: NodeJS.Timeout | undefined;
  #wasSent = false;
  #onGivenUp = () => {};

  constructor(
    request: HttpRequest,
    receiver: ReplyReceiver,
    resolve: () => void,
    reject: (error: TransportError) => void,
  ) {
    this.#request = request;
    this.#receiver = receiver;
    this.#resolve = resolve;
    this.#reject = reject;
    const ms = request.timeoutMs ?? request.idleTimeoutMs;
    if (ms !== undefined) this.#timer = setTimeout(() => this.#onTimeout(ms), ms);
    if (request.signal?.aborted) this.#onAbort();
    else request.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Has this called if the exchange ends before it has a connection, which then need not be made. */
  onGivenUp(callback: () => void): void {
    this.#onGivenUp = callback;
    if (this.#failure) callback();
  }

  /** The connection is open and the headers are about to be written: the last moment to withdraw. */
  onRequestStart(control: Control): void {
    if (this.#failure) {
      control.abort(this.#failure);
      return;
    }
    this.#control = control;
    this.#wasSent = true;
    this.#request.onSent?.();
  }

  onResponseStart(_control: Control, status: number, headers: ReplyHeaders): void {
    if (status < 200) return;
    this.#progress();
    this.#receiver.onHead(status, headers);
  }

  onResponseData(_control: Control, chunk: Buffer): void {
    this.#progress();
    this.#receiver.onData(chunk);
  }

  onResponseEnd(): void {
    this.#settle();
    this.#resolve();
  }

  onResponseError(_control: Control | null, error: Error): void {
    this.#fail(this.#failure ?? new TransportError(error.message, { wasSent: this.#wasSent, cause: error }));
  }

  readonly #onAbort = (): void => {
    const cause = this.#request.signal?.reason;
    this.#withdraw(new TransportError("interrupted", { wasSent: this.#wasSent, cause }));
  };

  #onTimeout(ms: number): void {
    const message = `no answer within ${formatDuration(ms)}`;
    this.#withdraw(new TransportError(message, { wasSent: this.#wasSent, timedOut: true }));
  }

  #progress(): void {
    if (this.#request.idleTimeoutMs !== undefined) this.#timer?.refresh();
  }

  /** A request can be aborted only once it has a connection; until then it is marked, and ends here. */
  #withdraw(failure: TransportError): void {
    if (this.#control) {
      this.#failure = failure;
      this.#control.abort(failure);
    } else {
      this.#fail(failure);
      this.#onGivenUp();
    }
  }

  #fail(failure: TransportError): void {
    this.#failure = failure;
    this.#settle();
    this.#reject(failure);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
  }
}
