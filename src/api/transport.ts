export interface HttpRequest {
  method: "GET" | "HEAD" | "POST";
  url: URL;
  headers?: Record<string, string>;
  body?: string;
  /** Whether it gets a connection that carries no other request, neither before nor after. Default: false. */
  ownConnection?: boolean;
  /** The whole exchange, connection and body included, may take this long. */
  timeoutMs?: number;
  /** No byte for this long ends the exchange. */
  idleTimeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Called at the last moment before the first byte leaves. */
  onSent?: (() => void) | undefined;
}

/** Pauses the bytes of a reply. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/**
 * Receives a file's bytes as they arrive. `write` may pause the sender with the flow it is given. A chunk is valid until
 * `write` returns: the next bytes may be read into its memory.
 */
export interface ByteSink {
  write(chunk: Buffer, flow: Flow): void;
}

/** Receives a request's reply as it arrives. An exception ends the exchange. A chunk is valid until `onData` returns. */
export interface ReplyReceiver {
  onHead(status: number, headers: ReplyHeaders): void;
  onData(chunk: Buffer, flow: Flow): void;
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
