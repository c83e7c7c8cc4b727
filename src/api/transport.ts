import { formatDuration } from "../lib/duration.ts";

/** A request body produced while it is sent, to save memory. */
export interface StreamedBody {
  /** Content-Length. */
  readonly bytes: number;
  /** If it throws, the request fails with an incomplete body. */
  chunks(): AsyncIterable<Buffer>;
}

export interface HttpRequest {
  /** POST and PUT use a new connection, which is not reused. */
  method: "GET" | "HEAD" | "POST" | "PUT";
  url: URL;
  headers?: Record<string, string>;
  /** Only for POST and PUT. */
  body?: string | Buffer | StreamedBody;
  /** Maximum time for the whole exchange, including connecting and the body. */
  timeoutMs?: number;
  /** Maximum time without a byte. Not combined with `timeoutMs`: one timer serves both. */
  idleTimeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Called just before the first byte is sent. */
  onSent?: (() => void) | undefined;
}

/** Receives the bytes of a file. It may keep the chunks. */
export interface ByteSink {
  write(chunk: Buffer): void;
}

/** Receives a reply as it arrives. It may keep the chunks. An exception aborts the exchange. */
export interface ReplyReceiver {
  onHead(status: number, headers: ReplyHeaders): void;
  onData(chunk: Buffer): void;
}

export type ReplyHeaders = Record<string, string | string[] | undefined>;

/**
 * An exchange that did not complete. Thrown by the HTTP client and by a probe; elsewhere it is a `cause`.
 * `wasSent` is false only if it is certain that not one byte of the request left: the connection failed, or the request
 * was aborted before its headers were written.
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

export interface OutgoingRequest extends Pick<HttpRequest, "url" | "method"> {
  headers: Record<string, string>;
  body: string | Buffer | StreamedBody | null;
}

/** Sends requests and calls the methods of each request's `Exchange`. */
export interface Sender {
  dispatch(request: OutgoingRequest, exchange: Exchange): void;
  /** Closes every connection, also those still being opened. */
  destroy(): Promise<void>;
}

interface Control {
  abort(error: Error): void;
}

/** A running request and its state, including whether it was sent. A `Sender` calls it as undici calls its handlers. */
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

  /** Sets the callback for an exchange that ends before its connection is open. It can stop connecting. */
  onGivenUp(callback: () => void): void {
    this.#onGivenUp = callback;
    if (this.#failure) callback();
  }

  /** Called before the headers are written: the last moment at which an aborted request is certainly not sent. */
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

  /** Aborts a request that has a connection. Without one it fails at once, and `onRequestStart` then refuses to send it. */
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
