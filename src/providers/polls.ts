import { AuthRequiredError, RejectedRequestError } from "../api/api-errors.ts";
import type { HttpReply } from "../api/http-client.ts";
import { isRetryable, parseRetryAfter } from "../api/retry.ts";
import { fieldsOf } from "../lib/json.ts";
import { readErrorBody, replyWithoutImage } from "./failed-reply.ts";
import { clauseOf, failedPoll } from "./failures.ts";
import { isInline } from "./kept-result.ts";
import { lenientJson } from "./lenient-json.ts";
import { type PolledState, type PollReply, ProviderError } from "./provider.ts";
import type { OwnUrl, ProviderServer } from "./provider-http.ts";
import { isSuccess } from "./reply-file.ts";
import { usageIn } from "./usage.ts";

/** The fields of a reply. */
export type Fields = Readonly<Record<string, unknown>>;

/** Sends a GET to one address of a job. @param read what its reply says of the job; null if it is not understood */
export type GetState = (
  at: OwnUrl | null,
  read: (said: Fields, json: unknown) => PolledState | null,
  /** Reads a reply that is not a success; null where it says nothing of the job: it then counts as a poll that failed. */
  ofFailure?: (reply: HttpReply) => PolledState | null,
) => Promise<PollReply>;

/** A job is gone after this many polls in a row that say so: right after its submit some servers do not know it yet. */
const GONE_AFTER = 3;

/** Polls of a service's jobs. A poll that fails never ends a job; only what the service says of it does. */
export class Polls {
  readonly #server: ProviderServer;
  /** How often in a row a job was not known, by its id. */
  readonly #missing = new Map<string, number>();

  constructor(server: ProviderServer) {
    this.#server = server;
  }

  /** The function that sends the requests of one poll of a job. It never throws. @param id of the job, as it is recorded */
  stateGetter(id: string, timeoutMs: number | undefined, signal: AbortSignal): GetState {
    return async (at, read, ofFailure = () => null) => {
      if (at === null) return { outcome: "refused", error: this.#elsewhere() };
      try {
        const reply = await this.#server.get(at, signal, timeoutMs);
        if (!isSuccess(reply)) {
          const task = ofFailure(reply);
          return task === null ? this.#unusable(reply, id) : { outcome: "state", task };
        }
        this.#missing.delete(id);
        const json = lenientJson(reply.body);
        const task = read(fieldsOf(json), json);
        return task === null ? failedPoll("its reply says nothing of the job") : { outcome: "state", task };
      } catch (error) {
        return this.#failed(error);
      }
    };
  }

  /**
   * A job that the service has finished. A job without a readable image may have been charged, unless a code says otherwise.
   * @param usage of the service's own @param said its whole reply
   */
  finished(urls: string[], usage: unknown, said: unknown): PolledState {
    const asked = this.#server.asked(true);
    const readUsage = usageIn(usage, asked.mask);
    const facts = { status: "completed", ...(readUsage && { usage: readUsage }) } as const;
    if (urls.length > 0 && !urls.some(isInline)) return { ...facts, urls };
    const text = JSON.stringify(said);
    const none = urls.length > 0 ? null : replyWithoutImage(text, asked);
    if (none !== null && none.failure.kind !== "lost") return failed(none.message);
    return { ...facts, urls: [], unread: { urls, said: text } };
  }

  /** A job that the service says has failed. @param words the service's own */
  failed(words: string): PolledState {
    const { host, mask } = this.#server;
    return failed(`${host} says: ${mask(words)}.`);
  }

  #unusable({ status, headers, body }: HttpReply, id: string): PollReply {
    const { mask, nowMs } = this.#server.asked(true);
    const said = readErrorBody(mask(body)).words;
    const words = `HTTP ${status}${said === null ? "" : `: ${said}`}`;
    if (status === 401 || status === 403) return { outcome: "refused", error: this.#noKey(words) };
    if (status === 404 || status === 410) return this.#gone(id, words);
    if (!isRetryable(status)) return failedPoll(words);
    const retryAfterMs = parseRetryAfter(headers["retry-after"], nowMs);
    return failedPoll(words, { rateLimited: status === 429, retryAfterMs });
  }

  #gone(id: string, words: string): PollReply {
    const times = (this.#missing.get(id) ?? 0) + 1;
    this.#missing.set(id, times);
    if (times < GONE_AFTER) return failedPoll(words);
    return { outcome: "state", task: failed(`${this.#server.host} no longer knows the job (${words}).`) };
  }

  #failed(error: unknown): PollReply {
    if (!(error instanceof ProviderError)) return failedPoll("it was given up");
    const connectionError = error.cause instanceof Error ? error.cause : error;
    return failedPoll(clauseOf(error.message), { connectionError });
  }

  #noKey(words: string): AuthRequiredError {
    const { host, hasKey } = this.#server;
    const [message, hint] = hasKey
      ? [`${host} does not accept the key`, "With a key that it accepts, imggen resume saves its image."]
      : [
          `${host} needs a key, and none is known for it`,
          "The one in IMGGEN_GENERATOR_KEY is sent beside --generator alone; imggen login --generator stores one.",
        ];
    const facts = { charged: "yes", hint: `The job goes on there. ${hint}` } as const;
    return new AuthRequiredError(`${message} (${words}).`, facts);
  }

  #elsewhere(): RejectedRequestError {
    const message = `The job's address is none of ${this.#server.host}, and the key does not go there.`;
    return new RejectedRequestError(message, { charged: "unknown" });
  }
}

function failed(why: string): PolledState {
  return { status: "failed", errorCode: null, why };
}
