export interface HttpRequest {
  /** A POST gets a connection of its own, which carries no other request, neither before nor after. */
  method: "GET" | "HEAD" | "POST";
  url: URL;
  headers?: Record<string, string>;
  body?: string | Buffer;
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
 * An exchange that did not complete.
 * `sent` is false only where it is certain that not one byte of the request left: the connection was never
 * made, or the request was withdrawn before its headers were written.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly sent: boolean;
  readonly timedOut: boolean;

  constructor(message: string, facts: { sent: boolean; timedOut?: boolean; cause?: unknown }) {
    super(message, { cause: facts.cause });
    this.sent = facts.sent;
    this.timedOut = facts.timedOut ?? false;
  }
}
