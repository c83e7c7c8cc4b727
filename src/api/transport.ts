import { formatDuration } from "../lib/duration.ts";

/** A body that is produced while it is sent, to save memory. */
export interface StreamedBody {
  /** Content-Length. */
  readonly bytes: number;
  /** Yields the body. An exception aborts the request. */
  chunks(): AsyncIterable<Buffer>;
}

export interface HttpRequest {
  /** POST and PUT use a new connection, which is not reused. */
  method: "GET" | "HEAD" | "POST" | "PUT";
  url: URL;
  headers?: Record<string, string>;
  /** Only for POST and PUT. */
  body?: string | Buffer | StreamedBody;
  /** Maximum time for the complete exchange, from connecting to the last byte of the body. */
  timeoutMs?: number;
  /** Maximum time without a received byte, in milliseconds. */
  idleTimeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Called just before the first byte is sent. */
  onSent?: (() => void) | undefined;
}

/** Receives the bytes of a file. Chunks are not reused, so `write` may store them. */
export interface ByteSink {
  write(chunk: Buffer): void;
}

/** Receives a reply while it arrives. May store the chunks. An exception aborts the exchange. */
export interface ReplyReceiver {
  onHead(status: number, headers: ReplyHeaders): void;
  onData(chunk: Buffer): void;
}

export type ReplyHeaders = Record<string, string | string[] | undefined>;

/** An exchange did not complete. `wasSent` is false only if it is certain that not one byte was sent. */
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

export interface OutgoingRequest extends Pick<HttpRequest, "url" | "method"> {
  headers: Record<string, string>;
  body: string | Buffer | StreamedBody | null;
}

export interface Sender {
  dispatch(request: OutgoingRequest, exchange: Exchange): void;
  /** Closes all connections and connection attempts. */
  destroy(): Promise<void>;
}

interface Control {
  abort(error: Error): void;
}

/** A running request. A `Sender` calls its methods in the same way as undici calls a dispatch handler. */
export class Exchange {
  #request: HttpRequest;
  #receiver: ReplyReceiver;
  #resolve: () => void;
  #reject: (error: TransportError) => void;
  #control: Control | null = null;
  #failure: TransportError | null = null;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #idleTimer: NodeJS.Timeout | undefined;
  #wasSent = false;
  #onEarlyFailure = () => {};

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
    this.#timer = this.#startTimer(request.timeoutMs);
    this.#idleTimer = this.#startTimer(request.idleTimeoutMs);
    if (request.signal?.aborted) this.#onAbort();
    else request.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Sets a function that stops the connection attempt, for an exchange that fails before its connection is open. */
  onEarlyFailure(callback: () => void): void {
    this.#onEarlyFailure = callback;
    if (this.#failure) callback();
  }

  /** Called before the headers are written. A request aborted earlier is certainly not sent. */
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

  #startTimer(ms: number | undefined): NodeJS.Timeout | undefined {
    return ms === undefined ? undefined : setTimeout(() => this.#onTimeout(ms), ms);
  }

  #onTimeout(ms: number): void {
    const message = `no answer within ${formatDuration(ms)}`;
    this.#withdraw(new TransportError(message, { wasSent: this.#wasSent, timedOut: true }));
  }

  #progress(): void {
    this.#idleTimer?.refresh();
  }

  /** Aborts the request. If the connection is not open yet, the exchange fails and the request is never sent. */
  #withdraw(failure: TransportError): void {
    if (this.#control) {
      this.#failure = failure;
      this.#control.abort(failure);
    } else {
      this.#fail(failure);
      this.#onEarlyFailure();
    }
  }

  #fail(failure: TransportError): void {
    this.#failure = failure;
    this.#settle();
    this.#reject(failure);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#idleTimer);
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
  }
}
