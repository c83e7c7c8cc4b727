import { VERSION } from "../lib/version.ts";
import { type ConnectOptions, type Connector, connector } from "./connect.ts";
import { isOfThisProcess } from "./connection-errors.ts";
import { decodeBody } from "./decode.ts";
import { mayBeProxied, proxyFor } from "./proxies.ts";
import { SingleConnections } from "./single-connections.ts";
import {
  Exchange,
  type HttpRequest,
  type ReplyHeaders,
  type ReplyReceiver,
  type Sender,
  TransportError,
} from "./transport.ts";

export interface HttpClientOptions extends ConnectOptions {
  /** Called after every exchange, for `--verbose`. Redact the URL before showing it, because it can contain a key. */
  onExchange?: ((exchange: ExchangeSummary) => void) | undefined;
}

interface ExchangeSummary {
  method: string;
  url: string;
  /** HTTP status, or text of the error. */
  result: number | string;
  elapsedMs: number;
}

/** Masks keys in the URLs passed to `onExchange`, because a result URL might contain the key. */
export function withMaskedUrls(
  onExchange: HttpClientOptions["onExchange"],
  mask: (text: string) => string,
): HttpClientOptions["onExchange"] {
  return onExchange && (({ url, ...exchange }) => onExchange({ ...exchange, url: mask(url) }));
}

/** HTTP client that does not follow redirects or retry requests. */
export class HttpClient {
  readonly #proxies: ConnectOptions["proxies"];
  readonly #connect: Connector;
  readonly #singleConnections: Sender;
  /** Connections without a proxy, for requests with a key over plain http:, because a proxy could read the key. */
  readonly #directConnections: Sender;
  #shared: Promise<Sender> | undefined;
  /**
   * Origins whose last shared connection failed. The next request to them uses Node's client, because undici 7 rejects
   * an unrequested `100 Continue`.
   */
  readonly #failedOrigins = new Set<string>();
  readonly #onExchange: HttpClientOptions["onExchange"];

  constructor({ onExchange, ...options }: HttpClientOptions = {}) {
    this.#proxies = options.proxies;
    this.#connect = connector(options);
    this.#singleConnections = new SingleConnections(this.#connect);
    this.#directConnections = new SingleConnections(connector({ ...options, proxies: undefined }));
    this.#onExchange = onExchange;
  }

  /** @throws TransportError */
  async send(request: HttpRequest, receiver: ReplyReceiver): Promise<void> {
    const { method, url, body = null } = request;
    const headers = { "user-agent": `imggen/${VERSION}`, ...request.headers };
    const start = performance.now();
    let result: number | string = "no answer";
    const onHead = (status: number, headers: ReplyHeaders) => {
      result = status;
      receiver.onHead(status, headers);
    };
    const isProxied = proxyFor(url, this.#proxies) !== null;
    const connections =
      isProxied && !mayBeProxied(url, headers) ? this.#directConnections : this.#singleConnections;
    const isShared =
      method !== "POST" &&
      method !== "PUT" &&
      connections === this.#singleConnections &&
      !this.#failedOrigins.delete(url.origin);
    const observedReceiver = { onHead, onData: (chunk: Buffer) => receiver.onData(chunk) };
    const sendOver = (sender: Sender) =>
      new Promise<void>((resolve, reject) => {
        sender.dispatch(
          { url, method, headers, body },
          new Exchange(request, observedReceiver, resolve, reject),
        );
      });
    try {
      if (!isShared) await sendOver(connections);
      else
        await sendOver(await this.#sharedConnections()).catch((error) => {
          if (!(error instanceof TransportError) || error.wasSent || !isOfThisProcess(error)) throw error;
          // undici is not used again, because its WebAssembly fails to load with some Node flags or little memory.
          this.#shared = Promise.resolve(connections);
          return sendOver(connections);
        });
    } catch (error) {
      if (isShared && error instanceof TransportError && error.wasSent) this.#failedOrigins.add(url.origin);
      result = `${result}, ${error instanceof Error ? error.message : error}`;
      throw error;
    } finally {
      this.#onExchange?.({ method, url: url.href, result, elapsedMs: performance.now() - start });
    }
  }

  /** Loads the code for polls and downloads in advance, which takes 10 ms. Never throws. */
  async prepareShared(): Promise<void> {
    await this.#sharedConnections();
  }

  /** Closes all connections, including connection attempts, so that the process can exit. */
  async close(): Promise<void> {
    await Promise.all([
      this.#singleConnections.destroy(),
      this.#directConnections.destroy(),
      this.#shared?.then((shared) => shared.destroy()),
    ]);
  }

  #sharedConnections(): Promise<Sender> {
    this.#shared ??= import("./shared-connections.ts").then(
      ({ SharedConnections }) => new SharedConnections(this.#connect),
      // The module can be missing during an upgrade. Single connections are used instead, to save paid tasks.
      () => this.#singleConnections,
    );
    return this.#shared;
  }
}

export interface HttpReply {
  status: number;
  headers: ReplyHeaders;
  body: string;
  /** The error that interrupted the body, or null for a complete reply. */
  cut: TransportError | null;
}

const MAX_REPLY_BYTES = 1024 * 1024;

/** A reply exceeds the size limit. The error is the `cause` of a TransportError. */
export class LargeReplyError extends Error {
  override readonly name = "LargeReplyError";
}

/**
 * Sends a request and reads the reply. If the body is interrupted or too large, `cut` is the error.
 * @param maxBytes maximum size of the body; default: 1 MiB
 * @throws TransportError if the headers of the reply did not arrive
 */
export async function fetchReply(
  http: HttpClient,
  request: HttpRequest,
  maxBytes = MAX_REPLY_BYTES,
): Promise<HttpReply> {
  const reply: HttpReply = { status: 0, headers: {}, body: "", cut: null };
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    await http.send(
      { ...request, headers: { ...request.headers, "accept-encoding": "identity" } },
      {
        onHead: (status, headers) => Object.assign(reply, { status, headers }),
        onData: (chunk) => {
          size += chunk.length;
          if (size > maxBytes)
            throw new LargeReplyError(`a reply of more than ${maxBytes / 1024 / 1024} MiB`);
          chunks.push(chunk);
        },
      },
    );
  } catch (error) {
    // The error is not thrown, because the received part of the body might already contain the task id.
    if (!(error instanceof TransportError) || reply.status === 0) throw error;
    reply.cut = error;
  }
  const body = Buffer.concat(chunks);
  const limits = { maxBytes, mayBeCut: true };
  const bytes = await decodeBody(body, reply.headers["content-encoding"], limits).catch(() => body);
  reply.body = bytes.toString("utf8");
  return reply;
}
