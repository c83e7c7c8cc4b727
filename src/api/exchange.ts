import { formatDuration } from "../lib/duration.ts";
import {
  type Flow,
  type HttpRequest,
  type ReplyHeaders,
  type ReplyReceiver,
  TransportError,
} from "./transport.ts";

/** A request as it is sent. */
export interface OutgoingRequest extends Pick<HttpRequest, "url" | "method"> {
  headers: Record<string, string>;
  body: string | null;
  /** Whether the connection is closed after it. */
  ownConnection: boolean;
}

/** Sends requests, and calls their exchanges at each step. */
export interface Sender {
  dispatch(request: OutgoingRequest, exchange: Exchange): void;
  /** Drops every connection, used, idle or not made yet. */
  destroy(): Promise<void>;
}

/** What an exchange may do to its request while that runs. */
export interface Control extends Flow {
  abort(error: Error): void;
}

/** One running request. What sends it calls this at each step, as undici does; it decides what counts as sent. */
export class Exchange {
  #request: HttpRequest;
  #receiver: ReplyReceiver;
  #resolve: () => void;
  #reject: (error: TransportError) => void;
  #controller: Control | null = null;
  #flow: Flow | null = null;
  #failure: TransportError | null = null;
  #timer: NodeJS.Timeout | undefined;
  #sent = false;
  #isSettled = false;
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
    this.#startTimer(request.timeoutMs ?? request.idleTimeoutMs);
    if (request.signal?.aborted) this.#onAbort();
    else request.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Has this called if the exchange ends before it has a connection, which then need not be made. */
  onGivenUp(callback: () => void): void {
    this.#onGivenUp = callback;
    if (this.#failure) callback();
  }

  /** Has its reply paused by this instead of by what sends the request. */
  pauseBy(flow: Flow): void {
    this.#flow = flow;
  }

  /** The connection is open and the headers are about to be written: the last moment to withdraw. */
  onRequestStart(controller: Control): void {
    // A second start would send the request again, which undici must not decide.
    const failure = this.#sent
      ? new TransportError("the connection was lost", { sent: true })
      : this.#failure;
    if (failure) {
      controller.abort(failure);
      return;
    }
    this.#controller = controller;
    this.#sent = true;
    this.#request.onSent?.();
  }

  onResponseStart(_controller: Control, status: number, headers: ReplyHeaders): void {
    if (status < 200) return;
    this.#progress();
    this.#receiver.onHead(status, headers);
  }

  onResponseData(controller: Control, chunk: Buffer): void {
    const flow = this.#flow ?? controller;
    this.#progress();
    this.#receiver.onData(chunk, {
      // A paused sender is not idle, so the idle timer stops meanwhile.
      pause: () => {
        if (this.#isSettled) return;
        this.#stopTimer();
        flow.pause();
      },
      resume: () => {
        if (this.#isSettled) return;
        this.#progress();
        flow.resume();
      },
    });
  }

  onResponseEnd(): void {
    this.#settle();
    this.#resolve();
  }

  onResponseError(_controller: Control | null, error: Error): void {
    this.#fail(this.#failure ?? new TransportError(error.message, { sent: this.#sent, cause: error }));
  }

  readonly #onAbort = (): void => {
    this.#withdraw(
      new TransportError("interrupted", { sent: this.#sent, cause: this.#request.signal?.reason }),
    );
  };

  #progress(): void {
    if (this.#request.idleTimeoutMs === undefined) return;
    if (this.#timer) this.#timer.refresh();
    else this.#startTimer(this.#request.idleTimeoutMs);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #startTimer(ms: number | undefined): void {
    if (ms === undefined) return;
    this.#timer = setTimeout(() => {
      const message = `no answer within ${formatDuration(ms)}`;
      this.#withdraw(new TransportError(message, { sent: this.#sent, timedOut: true }));
    }, ms);
  }

  /** A request can be aborted only once it has a connection; until then it is marked, and ends here. */
  #withdraw(failure: TransportError): void {
    if (this.#controller) {
      this.#failure = failure;
      this.#controller.abort(failure);
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
    this.#isSettled = true;
    this.#stopTimer();
    // Its connection may carry other replies.
    this.#flow?.resume();
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
  }
}
