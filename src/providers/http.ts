import { writeFile } from "node:fs/promises";
import path from "node:path";
import { guardedLookup, isLoopbackHost } from "../api/address.ts";
import { HttpClient, type HttpReply, wholeReply } from "../api/client.ts";
import { connectionErrorText } from "../api/connection-errors.ts";
import { TransportError } from "../api/transport.ts";
import { errorText } from "../lib/error-text.ts";
import { keyMasker } from "../lib/redact.ts";
import { downloadImage } from "./download-image.ts";
import { type Asked, type FailedReply, failedReply, replyWithoutImage } from "./failed-reply.ts";
import { type GeneratorDeps, GeneratorError, type GeneratorJob } from "./generator.ts";
import { ReplyFile, readReplyFile, type StoredReply } from "./reply-file.ts";
import type { GeneratorOptions } from "./spec.ts";

export interface ServerOptions extends Pick<GeneratorOptions, "headers" | "isPaid" | "key"> {
  /** Its base. A query in it goes along with every request. */
  url: string;
  /** The Authorization header, unless `headers` has one; null for none. */
  authorization: string | null;
}

/** The body of a POST, and its type. */
export interface PostBody {
  type: string;
  bytes: string | Buffer;
}

/** A shorter value of a header is none, such as a version, and to hide it would hide words too. */
const SHORTEST_SECRET = 8;
/** For what costs nothing: models, progress. */
const GET_TIMEOUT_MS = 15_000;

/**
 * A generator's server over HTTP: each call is one request. Its key goes to its own origin alone, and no redirect is
 * followed with it. Never through a proxy to this machine itself.
 */
export class GeneratorServer {
  readonly #options: ServerOptions;
  readonly #deps: GeneratorDeps;
  readonly #base: URL;
  readonly #http: HttpClient;
  readonly #downloads: HttpClient;
  readonly #maskers: readonly ((text: string) => string)[];

  constructor(options: ServerOptions, deps: GeneratorDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#base = new URL(options.url);
    const { hostname } = this.#base;
    const { onExchange } = deps;
    const proxies = isLoopbackHost(hostname) ? undefined : deps.proxies;
    this.#http = new HttpClient({ proxies, onExchange });
    this.#downloads = new HttpClient({ proxies, onExchange, lookup: guardedLookup(hostname) });
    const values = Object.values(options.headers).filter((value) => value.length >= SHORTEST_SECRET);
    this.#maskers = [options.key ?? "", ...values].map(keyMasker);
  }

  /** For messages: its host, with the port where that is not the usual one. */
  get host(): string {
    return this.#base.host;
  }

  /** Hides the key, and the values of the headers that the user has set, in a text from anywhere. */
  readonly mask = (text: string): string => this.#maskers.reduce((masked, mask) => mask(masked), text);

  /**
   * Sends the request for a job's image, once. Its reply is written to a file while it arrives, synced if the generator
   * is paid, and only then read. @returns the reply, whatever its status: one that was cut short says so
   * @throws GeneratorError (unreachable, lost); or the signal's reason
   */
  async post(to: string, body: PostBody, job: GeneratorJob, signal: AbortSignal): Promise<StoredReply> {
    const file = replyFile(job);
    const reply = await this.#createReply(file);
    let failure: TransportError | null = null;
    try {
      await this.#http.send(
        {
          method: "POST",
          url: this.#urlOf(to),
          headers: { ...this.#headersOf(job), "content-type": body.type, "accept-encoding": "identity" },
          body: body.bytes,
          signal,
        },
        reply,
      );
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      failure = error;
    } finally {
      await reply.close();
    }
    if (failure && signal.aborted) throw signal.reason;
    if (failure?.sent === false) throw this.#unreachable(failure);
    const cut = failure && this.mask(connectionErrorText(failure));
    const stored = await readReplyFile(file, cut).catch((error) => {
      throw this.lost(`the reply in ${file} cannot be read: ${errorText(error)}`);
    });
    if (stored === null) throw this.lost(cut ?? "the reply has no head");
    return stored;
  }

  /** The reply to a job whose process ended, as far as it had arrived; null for none. */
  replyTo(job: GeneratorJob): Promise<StoredReply | null> {
    return readReplyFile(replyFile(job));
  }

  /** Sends a GET that costs nothing. @throws GeneratorError (unreachable); or the signal's reason */
  async get(from: string, signal: AbortSignal): Promise<HttpReply> {
    try {
      const url = this.#urlOf(from);
      const request = { method: "GET", url, headers: this.#headers, timeoutMs: GET_TIMEOUT_MS } as const;
      return await wholeReply(this.#http, { ...request, signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.#unreachable(error);
    }
  }

  /**
   * Downloads a job's image by the rules of result URLs. @param url absolute, or relative to the server
   * @returns the image's file. @throws GeneratorError (lost), or the signal's reason
   */
  async download(url: string, job: GeneratorJob, signal: AbortSignal): Promise<string> {
    const file = imageFile(job);
    const why = await downloadImage(url, file, {
      http: this.#downloads,
      clock: this.#deps.clock,
      serviceUrl: this.#base,
      headers: this.#headers,
      maskKey: this.mask,
      signal,
    }).catch((error) => {
      if (signal.aborted) throw signal.reason;
      return errorText(error);
    });
    if (why !== null) throw this.lost(`its download failed: ${why}`);
    return file;
  }

  /** Writes a job's image. @returns its file. @throws GeneratorError (lost) */
  async keep(bytes: Buffer, job: GeneratorJob): Promise<string> {
    const file = imageFile(job);
    await writeFile(file, bytes, { mode: 0o600 }).catch((error: unknown) => {
      throw this.lost(`it could not be written to ${file}: ${errorText(error)}`);
    });
    return file;
  }

  /** What a reply that is not a success means. */
  failed(reply: FailedReply): GeneratorError {
    return failedReply(reply, this.#asked);
  }

  /** What a success without an image means. */
  withoutImage(body: string): GeneratorError {
    return replyWithoutImage(body, this.#asked);
  }

  /** A request that was sent, and whose image is gone. @param why a clause */
  lost(why: string): GeneratorError {
    const message = `The request was sent to ${this.host}, and its image is lost: ${this.mask(why)}.`;
    return new GeneratorError(message, { kind: "lost" });
  }

  async close(): Promise<void> {
    await Promise.all([this.#http.close(), this.#downloads.close()]);
  }

  get #headers(): Record<string, string> {
    const { authorization, headers } = this.#options;
    const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    return { ...(authorization !== null && { authorization }), ...Object.fromEntries(own) };
  }

  get #asked(): Asked {
    const { host, mask } = this;
    const { isPaid } = this.#options;
    return { host, mask, isPaid, nowMs: this.#deps.clock.now() };
  }

  /** A paid request can be looked up by its task's id. */
  #headersOf({ taskId }: GeneratorJob): Record<string, string> {
    return { ...this.#headers, ...(this.#options.isPaid && { "x-client-request-id": taskId }) };
  }

  /** @param relative a path below the base, with a query or without */
  #urlOf(relative: string): URL {
    const url = new URL(this.#base.href);
    const [name = "", query] = relative.split("?");
    url.pathname = `${url.pathname.replace(/\/$/, "")}${name}`;
    for (const [key, value] of new URLSearchParams(query)) url.searchParams.append(key, value);
    return url;
  }

  async #createReply(file: string): Promise<ReplyFile> {
    try {
      return await ReplyFile.create(file, { isSynced: this.#options.isPaid, mask: this.mask });
    } catch (cause) {
      const message = `Nothing was sent to ${this.host}: no reply can be written to ${file}: ${errorText(cause)}.`;
      throw new GeneratorError(message, { kind: "unreachable" }, { cause });
    }
  }

  #unreachable(error: unknown): GeneratorError {
    const why = this.mask(connectionErrorText(error));
    return new GeneratorError(
      `The generator at ${this.host} could not be reached: ${why}.`,
      { kind: "unreachable" },
      { cause: error },
    );
  }
}

function replyFile({ folder }: GeneratorJob): string {
  return path.join(folder, "reply");
}

function imageFile({ folder }: GeneratorJob): string {
  return path.join(folder, "image");
}
