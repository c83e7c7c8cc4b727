import path from "node:path";
import { AuthRequiredError, NoRoomError, RejectedRequestError } from "../api/api-errors.ts";
import { connectionErrorText } from "../api/connection-errors.ts";
import type { HttpReply } from "../api/http-client.ts";
import { isRetryable } from "../api/retry.ts";
import { statedWaitMs } from "../api/stated-wait.ts";
import { makeFolder, removeIfPossible } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { fieldsOf } from "../lib/json.ts";
import { shellWord } from "../lib/shell-word.ts";
import { action, phrase } from "../lib/wording.ts";
import { randomDigits } from "../lib/write-whole.ts";
import { readErrorBody, replyWithoutImage, statesNoCharge } from "./failed-reply.ts";
import { failedPoll, isDiskFull, toClause } from "./failures.ts";
import { isDataUrl, removeRequestUrls } from "./found-images.ts";
import { type PolledState, type PollOptions, type PollReply, ProviderError } from "./provider.ts";
import type { OwnUrl, ProviderServer } from "./provider-http.ts";
import { imageWarnings, readUsage } from "./reply-facts.ts";
import { parseExactJson, parseLenientJson } from "./reply-json.ts";
import { parseReportedSeeds } from "./seeds.ts";
import { isSuccess, writeReply } from "./stored-reply.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** State of a job in a reply; `missing` if the service does not have the job, null if the reply contains no state. */
export type ReadState = PolledState | "missing" | null;

/** Matches the states of a failed job. An unknown state does not match, because the job might still succeed. */
const FAILED_STATE =
  /^(?:failed|failure|error(?:ed)?|cancell?ed|aborted|rejected|expired|timed?[ _-]?out|(?:(?:request|content)[ _-])?moderated)$/i;

export function isFailedState(state: unknown): state is string {
  return typeof state === "string" && FAILED_STATE.test(state);
}

/** HTTP statuses about the key, the account, the rate of polls or an unknown job, and not about the job's state. */
const NOT_ABOUT_JOB: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 410, 425, 429]);

/** HTTP statuses about the account or the rate of polls, which do not mean that the job is missing. */
const ABOUT_ACCOUNT: ReadonlySet<number> = new Set([402, 408, 425, 429]);

interface ResultReaders {
  resultIn: (fields: Fields) => string[];
  /** Absent if the service does not report seeds. */
  seedsIn?: ((fields: Fields) => unknown) | undefined;
}

/** One poll of a job. The job ends only if the service reports a final state, and never because a request failed. */
export class JobPoll {
  readonly #server: ProviderServer;
  readonly #options: PollOptions;
  readonly #readers: ResultReaders;
  #body = "";

  constructor(server: ProviderServer, options: PollOptions, readers: ResultReaders) {
    this.#server = server;
    this.#options = options;
    this.#readers = readers;
  }

  /** Never throws. @param at null if the address belongs to another server @param readFailure for error replies */
  async get(
    at: OwnUrl | null,
    read: (fields: Fields, json: unknown) => ReadState,
    readFailure: (reply: HttpReply) => ReadState = () => null,
  ): Promise<PollReply> {
    if (at === null) return { outcome: "refused", error: this.#otherServerError() };
    const file = pollFile(this.#options);
    let isKept = false;
    try {
      return await this.#server.poll(at, file, this.#options, async (reply, isStored) => {
        const polled = this.#replyIn(reply, read, readFailure);
        if (polled.outcome !== "state") return polled;
        const task = await withReply(
          polled.task,
          isStored ? null : reply.body,
          this.#options,
          this.#isUnrecorded,
          file,
        );
        isKept = task.status === "completed" && task.reply !== undefined;
        return { outcome: "state", task };
      });
    } catch (error) {
      return this.#failed(error);
    } finally {
      if (!isKept) removeIfPossible(file);
    }
  }

  /** Returns the result of a poll by a package. Never throws. @param toReply the package's result, which is stored */
  async reply(task: PolledState, toReply: unknown): Promise<PollReply> {
    try {
      return {
        outcome: "state",
        task: await withReply(task, JSON.stringify(toReply), this.#options, this.#isUnrecorded),
      };
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** Whether a URL must not be in the ledger, because the URL contains the image itself or the key. */
  readonly #isUnrecorded = (url: string): boolean =>
    isDataUrl(url) || (this.#options.keepsReply === true && this.#server.mask(url) !== url);

  #replyIn(
    reply: HttpReply,
    read: (fields: Fields, json: unknown) => ReadState,
    readFailure: (reply: HttpReply) => ReadState,
  ): PollReply {
    const { status } = reply;
    if (isSuccess(reply)) return this.#read(reply, read);
    // A status above 500 comes from a proxy or gateway and not from the service.
    const isAboutJob = status >= 400 && status <= 500 && !NOT_ABOUT_JOB.has(status);
    const task = isAboutJob ? readFailure(reply) : null;
    return task === null || task === "missing" ? this.#unusable(reply) : { outcome: "state", task };
  }

  /**
   * A web page or an empty reply contains no state of the job, so the job might be missing. A cut reply shows that the
   * job exists.
   */
  #read({ body, cut }: HttpReply, read: (fields: Fields, json: unknown) => ReadState): PollReply {
    const json = parseLenientJson(body);
    this.#body = body;
    if (json === null && cut !== null)
      return failedPoll(`its reply was cut: ${this.#server.mask(connectionErrorText(cut))}`, {
        connectionError: cut,
      });
    const task = read(fieldsOf(json), json);
    if (task === "missing") return failedPoll("the service has no such job", { isMissing: true });
    if (task === null) return failedPoll("its reply contains no state of the job", { isMissing: true });
    return { outcome: "state", task };
  }

  finished(usage: unknown, fields: Fields): PolledState {
    const { resultIn, seedsIn } = this.#readers;
    const urls = removeRequestUrls(resultIn(fields), fields, this.#options.job);
    const state = finishedState(this.#server, urls, usage, fields);
    const seeds = parseReportedSeeds(seedsIn?.(fieldsOf(parseExactJson(this.#body))));
    return seeds !== null && state.status === "completed" ? { ...state, seeds } : state;
  }

  failed(words: string): PolledState {
    const { host, mask } = this.#server;
    return failedState(`${host} says: ${mask(words)}.`, words);
  }

  #unusable(reply: HttpReply): PollReply {
    const { status, headers, body } = reply;
    const { nowMs } = this.#server.replySource(true);
    const words = replyWords(reply, this.#server);
    const error = keyRefusal(reply, this.#server);
    if (error !== null) return { outcome: "refused", error };
    const retryAfterMs = isRetryable(status) ? statedWaitMs({ headers, body }, nowMs) : null;
    const isAboutAccount = ABOUT_ACCOUNT.has(status);
    return failedPoll(words, {
      rateLimited: status === 429,
      retryAfterMs,
      ...(!isAboutAccount && { isMissing: true }),
    });
  }

  #failed(error: unknown): PollReply {
    const cause = error instanceof ProviderError ? error.cause : error;
    if (isDiskFull(cause)) return { outcome: "refused", error: this.#diskFullError(cause) };
    if (!(error instanceof ProviderError)) return failedPoll("the poll was aborted");
    const connectionError = error.cause instanceof Error ? error.cause : error;
    return failedPoll(toClause(error.message), { connectionError });
  }

  #diskFullError(cause: unknown): NoRoomError {
    const { host } = this.#server;
    const message = `The reply of ${host} cannot be stored in ${this.#options.job.folder}: ${errorText(cause)}.`;
    const hint = "The job is not affected. Free some space, then resume the job.";
    return new NoRoomError(message, { charged: "yes", hint, cause });
  }

  #otherServerError(): RejectedRequestError {
    const message = `The job's address does not belong to ${this.#server.host}, so the key is not sent there.`;
    return new RejectedRequestError(message, { charged: "unknown" });
  }
}

function replyWords({ status, body }: HttpReply, server: ProviderServer): string {
  const serverWords = readErrorBody(server.mask(body)).words;
  return `HTTP ${status}${serverWords === null ? "" : `: ${serverWords}`}`;
}

/** Returns null unless the reply refuses the key or requires one. */
export function keyRefusal(reply: HttpReply, server: ProviderServer): AuthRequiredError | null {
  if (reply.status !== 401 && reply.status !== 403) return null;
  const { host, hasKey, keyVariable, address } = server;
  const [message, hint] = hasKey
    ? [`${host} does not accept the key`, phrase`To save the image with a valid key: ${action("resume")}`]
    : [
        `${host} needs a key, but no key is set`,
        keyVariable === undefined
          ? phrase`To store a key: ${action("run", `login --generator ${shellWord(address)}`)}`
          : `Set ${keyVariable} to the key with which the job was submitted.`,
      ];
  const facts = { charged: "yes", hint: [`The job continues at ${host}.`, hint] } as const;
  return new AuthRequiredError(`${message} (${replyWords(reply, server)}).`, facts);
}

function pollFile({ job }: PollOptions): string {
  return path.join(job.folder, `.poll-${randomDigits()}`);
}

/**
 * Returns the state for the ledger, without URLs if any must not be in the ledger. If a completed state then has no
 * URLs, `keepsReply` stores the reply for `images`.
 * @param reply null if `file` already contains the reply @throws the disk's error
 */
export async function withReply(
  task: PolledState,
  reply: string | null,
  options: PollOptions,
  isUnrecorded = isDataUrl,
  file = pollFile(options),
): Promise<PolledState> {
  const isRead = task.status === "completed" && (task.urls.length === 0 || task.urls.some(isUnrecorded));
  if (!isRead) return task;
  if (!options.keepsReply) return { ...task, urls: [] };
  await makeFolder(options.job.folder, 0o700);
  if (reply !== null) await writeReply(file, reply);
  return { ...task, urls: [], reply: file };
}

/** A job without an image is `completed`, because it might be charged, unless the reply shows that it is not. */
export function finishedState(
  server: ProviderServer,
  urls: string[],
  usage: unknown,
  reply: unknown,
): PolledState {
  const source = server.replySource(true);
  const parsedUsage = readUsage(usage, source.mask);
  const warnings = imageWarnings(reply, source.host);
  if (urls.length === 0) {
    const text = JSON.stringify(reply);
    const imageError = replyWithoutImage(text, source);
    if (imageError.failure.kind !== "lost") return failedState(imageError.message, text);
  }
  return {
    status: "completed",
    urls,
    ...(parsedUsage && { usage: parsedUsage }),
    ...(warnings.length > 0 && { warnings }),
  };
}

function failedState(why: string, words: string): PolledState {
  return { status: "failed", errorCode: null, why, ...(statesNoCharge(words) && { charged: "no" }) };
}

export function fieldText(value: unknown): string | null {
  if (typeof value === "string") return value.trim().replace(/\.$/, "") || null;
  return value === undefined || value === null ? null : JSON.stringify(value).slice(0, 500);
}
