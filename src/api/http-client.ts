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
  /** Called for every exchange that ended, for `--verbose`. The URL is whole: redact it before showing it. */
  onExchange?: ((exchange: ExchangeSummary) => void) | undefined;
}

interface ExchangeSummary {
  method: string;
  url: string;
  /** The HTTP status, or the error in place of one. */
  result: number | string;
  elapsedMs: number;
}

/** Hides a key in the URLs of exchanges: a service may repeat it in the path of a result. */
export function withMaskedUrls(
  onExchange: HttpClientOptions["onExchange"],
  mask: (text: string) => string,
): HttpClientOptions["onExchange"] {
  return onExchange && (({ url, ...exchange }) => onExchange({ ...exchange, url: mask(url) }));
}

/** Plain HTTP: one request, one reply, no redirects, no retries. */
export class HttpClient {
  readonly #proxies: ConnectOptions["proxies"];
  readonly #connect: Connector;
  readonly #single: Sender;
  /** For what no proxy may see: a key over plain http:. */
  readonly #unproxied: Sender;
  #shared: Promise<Sender> | undefined;
  /**
   * Origins whose last exchange over a shared connection broke. The next one gets a connection of its own: Node's client
   * reads what undici 7 refuses, an unrequested `100 Continue` before the reply.
   */
  readonly #broken = new Set<string>();
  readonly #onExchange: HttpClientOptions["onExchange"];

  constructor({ onExchange, ...options }: HttpClientOptions = {}) {
    this.#proxies = options.proxies;
    this.#connect = connector(options);
    this.#single = new SingleConnections(this.#connect);
    this.#unproxied = new SingleConnections(connector({ ...options, proxies: undefined }));
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
    const single = isProxied && !mayBeProxied(url, headers) ? this.#unproxied : this.#single;
    const isShared =
      method !== "POST" && method !== "PUT" && single === this.#single && !this.#broken.delete(url.origin);
    const observedReceiver = { onHead, onData: (chunk: Buffer) => receiver.onData(chunk) };
    const sendOver = (sender: Sender) =>
      new Promise<void>((resolve, reject) => {
        sender.dispatch(
          { url, method, headers, body },
          new Exchange(request, observedReceiver, resolve, reject),
        );
      });
    try {
      if (!isShared) await sendOver(single);
      else
        await sendOver(await this.#sharedConnections()).catch((error) => {
          if (!(error instanceof TransportError) || error.wasSent || !isOfThisProcess(error)) throw error;
          // undici's parser is WebAssembly, which a flag of Node or a lack of memory can rule out.
          this.#shared = Promise.resolve(single);
          return sendOver(single);
        });
    } catch (error) {
      if (isShared && error instanceof TransportError && error.wasSent) this.#broken.add(url.origin);
      result = `${result}, ${error instanceof Error ? error.message : error}`;
      throw error;
    } finally {
      this.#onExchange?.({ method, url: url.href, result, elapsedMs: performance.now() - start });
    }
  }

  /** Loads the code of polls and downloads, for every client, before it is needed: that takes 10 ms. Never throws. */
  async prepareShared(): Promise<void> {
    await this.#sharedConnections();
  }

  /** Drops every connection, used, idle or not made yet, so that the process can end. */
  async close(): Promise<void> {
    await Promise.all([
      this.#single.destroy(),
      this.#unproxied.destroy(),
      this.#shared?.then((shared) => shared.destroy()),
    ]);
  }

  #sharedConnections(): Promise<Sender> {
    this.#shared ??= import("./shared-connections.ts").then(
      ({ SharedConnections }) => new SharedConnections(this.#connect),
      // The program's files are gone, as in an upgrade. What was paid for can still be polled and saved.
      () => this.#single,
    );
    return this.#shared;
  }
}

/** A reply as received. */
export interface HttpReply {
  status: number;
  headers: ReplyHeaders;
  body: string;
  /** The error that cut the body short; null for a complete reply. */
  cut: TransportError | null;
}

const MAX_REPLY_BYTES = 1024 * 1024;

/** A reply is larger than its reader allows. The cause of the error that cut it. */
export class LargeReplyError extends Error {
  override readonly name = "LargeReplyError";
}

/**
 * Sends a request to the service and reads the whole reply, 1 MiB at most by default. One that was cut short says what
 * cut it.
 * @throws TransportError if not even the head of a reply arrived
 */
export async function wholeReply(
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
    // What came before may be all that the service had to say.
    if (!(error instanceof TransportError) || reply.status === 0) throw error;
    reply.cut = error;
  }
  const body = Buffer.concat(chunks);
  const limits = { maxBytes, mayBeCut: true };
  const bytes = await decodeBody(body, reply.headers["content-encoding"], limits).catch(() => body);
  reply.body = bytes.toString("utf8");
  return reply;
}
