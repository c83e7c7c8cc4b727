import { AuthRequiredError, RejectedRequestError } from "../api/api-errors.ts";
import { connectionErrorText } from "../api/connection-errors.ts";
import type { HttpReply } from "../api/http-client.ts";
import { isRetryable } from "../api/retry.ts";
import { statedWaitMs } from "../api/stated-wait.ts";
import { fieldsOf } from "../lib/json.ts";
import { readErrorBody, replyWithoutImage, saysNotCharged } from "./failed-reply.ts";
import { clauseOf, failedPoll } from "./failures.ts";
import { isInline, urlsInRequest } from "./found-images.ts";
import { type PolledState, type PollReply, ProviderError } from "./provider.ts";
import type { OwnUrl, ProviderServer } from "./provider-http.ts";
import { usageIn, warningsOn } from "./reply-facts.ts";
import { isSuccess } from "./reply-file.ts";
import { lenientJson } from "./reply-json.ts";

/** The fields of a reply. */
export type Fields = Readonly<Record<string, unknown>>;

/** The state of a job in a reply; `missing` if the service has no such job, null if the reply says nothing of it. */
export type ReadState = PolledState | "missing" | null;

/** Sends a GET to one address of a job. @param read reads the JSON of a success */
export type GetState = (
  at: OwnUrl | null,
  read: (said: Fields, json: unknown) => ReadState,
  /** Reads a reply whose status may be about the job itself. Absent: none is. */
  readFailure?: (reply: HttpReply) => ReadState,
) => Promise<PollReply>;

/** States that end a job without an image, in any service's spelling. No other unknown word is an end. */
const ENDED =
  /^(?:failed|failure|error(?:ed)?|cancell?ed|aborted|rejected|expired|timed?[ _-]?out|(?:(?:request|content)[ _-])?moderated)$/i;

/** Whether a state ends a job without an image. */
export function isFailedState(word: unknown): word is string {
  return typeof word === "string" && ENDED.test(word);
}

/**
 * Statuses that say nothing of the job itself: the key, the account, too many polls, a job that is not known yet or not
 * here. Of the others, a server before the service's own answers with 501 and more.
 */
const NOT_OF_JOB: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 410, 425, 429]);

/** Statuses by which the service itself speaks of the account, or of the time of the poll. */
const ABOUT_ACCOUNT: ReadonlySet<number> = new Set([402, 408, 425, 429]);

/** Polls of a service's jobs. A poll that fails never ends a job; only the service's own word does. */
export class Polls {
  readonly #server: ProviderServer;
  readonly #sent: ReadonlySet<string>;

  /** @param sent URLs that the job's request held, if this process has sent it */
  constructor(server: ProviderServer, sent: ReadonlySet<string> = new Set()) {
    this.#server = server;
    this.#sent = sent;
  }

  /** The function that sends the requests of one poll of a job. It never throws. */
  stateGetter(timeoutMs: number | undefined, signal: AbortSignal): GetState {
    return async (at, read, readFailure = () => null) => {
      if (at === null) return { outcome: "refused", error: this.#elsewhere() };
      try {
        const reply = await this.#server.poll(at, signal, timeoutMs);
        const { status } = reply;
        if (isSuccess(reply)) return this.#read(reply, read);
        const isOfJob = status >= 400 && status <= 500 && !NOT_OF_JOB.has(status);
        const task = isOfJob ? readFailure(reply) : null;
        return task === null || task === "missing" ? this.#unusable(reply) : { outcome: "state", task };
      } catch (error) {
        return this.#failed(error);
      }
    };
  }

  /** Reads a success. A page, an empty reply and one that was cut say nothing of the job. */
  #read({ body, cut }: HttpReply, read: (said: Fields, json: unknown) => ReadState): PollReply {
    const json = lenientJson(body);
    if (json === null && cut !== null)
      return failedPoll(`its reply was cut: ${this.#server.mask(connectionErrorText(cut))}`, {
        connectionError: cut,
        isMissing: true,
      });
    const task = read(fieldsOf(json), json);
    if (task === "missing") return failedPoll("the service has no such job", { isMissing: true });
    if (task === null) return failedPoll("its reply says nothing of the job", { isMissing: true });
    return { outcome: "state", task };
  }

  /**
   * A job that the service has finished. A job without a readable image may have been charged, unless a code says otherwise.
   * @param images URLs of its images, `data:` URLs among them; of those that the request held, none is a result
   * @param usage of the service's own @param said its whole reply
   */
  finished(images: readonly string[], usage: unknown, said: unknown): PolledState {
    const { input, request } = fieldsOf(said);
    const sent = new Set([...this.#sent, ...urlsInRequest([input, request])]);
    const urls = images.filter((url) => !sent.has(url));
    const asked = this.#server.asked(true);
    const readUsage = usageIn(usage, asked.mask);
    const warnings = warningsOn(said, asked.host);
    const facts = {
      status: "completed",
      ...(readUsage && { usage: readUsage }),
      ...(warnings.length > 0 && { warnings }),
    } as const;
    if (urls.length > 0 && !urls.some(isInline)) return { ...facts, urls };
    const text = JSON.stringify(said);
    const none = urls.length > 0 ? null : replyWithoutImage(text, asked);
    if (none !== null && none.failure.kind !== "lost") return failedState(none.message, text);
    return { ...facts, urls: [], unread: { urls, said: text } };
  }

  /** A job that the service says has failed. @param words the service's own */
  failed(words: string): PolledState {
    const { host, mask } = this.#server;
    return failedState(`${host} says: ${mask(words)}.`, words);
  }

  #unusable({ status, headers, body }: HttpReply): PollReply {
    const { mask, nowMs } = this.#server.asked(true);
    const said = readErrorBody(mask(body)).words;
    const words = `HTTP ${status}${said === null ? "" : `: ${said}`}`;
    if (status === 401 || status === 403) return { outcome: "refused", error: this.#noKey(words) };
    const retryAfterMs = isRetryable(status) ? statedWaitMs({ headers, body }, nowMs) : null;
    const isAboutAccount = ABOUT_ACCOUNT.has(status);
    return failedPoll(words, {
      rateLimited: status === 429,
      retryAfterMs,
      ...(!isAboutAccount && { isMissing: true }),
    });
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

/** @param words the service's own, which may say that the job is not charged */
function failedState(why: string, words: string): PolledState {
  return { status: "failed", errorCode: null, why, ...(saysNotCharged(words) && { charged: "no" }) };
}

/** A field of a reply as a text. */
export function wordsOf(said: unknown): string | null {
  if (typeof said === "string") return said.trim().replace(/\.$/, "") || null;
  return said === undefined || said === null ? null : JSON.stringify(said).slice(0, 500);
}
