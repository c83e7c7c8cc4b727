import { InsufficientCreditsError, NetworkError, OutcomeUnknownError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { backoffMs, isRetryable as isWorthRetry } from "../../api/retry.ts";
import { TransportError } from "../../api/transport.ts";
import { ImggenError } from "../../lib/error-types.ts";
import type { Job, SubmitReply, UnknownReply } from "../../providers/provider.ts";
import { taskIdIn } from "../../providers/service/excerpt.ts";
import type { Usage } from "../../task/lifecycle.ts";
import type { TaskDeps } from "../deps.ts";
import { CancelledError, interruptedError } from "../errors.ts";
import { SUBMIT_LOST, SUBMIT_NOT_SENT, SUBMIT_RATE_LIMITED } from "../limits/policy.ts";
import { pause } from "../polling/wait.ts";
import type { Turn } from "../turns/line.ts";
import { timeLimit } from "./time-limit.ts";

/** How a submit ended, retries included. */
export type SubmitResult =
  | { outcome: "accepted"; taskId: string }
  | { outcome: "made"; usage: Usage | null }
  | { outcome: "refused" | "not_sent"; error: ImggenError }
  /** `gaveUp`: why this process has not waited for the reply, if that is so. */
  | { outcome: "unknown"; error: ImggenError; reply: UnknownReply; gaveUp: GivenUp | null };

/** Why a request's reply is not waited for any longer. */
export type GivenUp = "time limit" | "signal" | "timeout";

/** Records attempts to send a request. */
export interface AttemptLog {
  /** Called before each attempt. @returns why it must not be made; null if it may */
  begin(submitMs: number): Promise<ImggenError | null>;
  /** Called before the wait after a 429: a process that is killed during it has only sent what was refused. */
  rateLimited(why: string, waitMs: number): Promise<void>;
  /** Called after an attempt that is to be repeated. @param sent whether it may have reached the other side */
  again(why: string, sent: boolean): Promise<void>;
}

/** How one request is sent, and how long it is waited for. All times are in milliseconds. */
export interface SubmitSpec {
  job: Job;
  log: AttemptLog;
  /** Waits for the request's turn at its provider; null where it needs none. @throws the signal's reason */
  turn: (() => Promise<Turn>) | null;
  /** How long, all in all, the provider may ask to wait with Retry-After. */
  patienceMs: number;
  /** How often it is sent again after its reply was lost: never if it may cost something. */
  lostRetries: number;
  /** How long one request may take; null: as its provider ends it. */
  limitMs: number | null;
  /** After this time a request that costs nothing is given up; null: never. */
  timeoutMs: number | null;
  /** After a signal, how long the reply to a request that has left is waited for. */
  graceMs: number;
  /** Called with what of the request the provider has left out. */
  onWarning?: ((message: string) => void) | undefined;
}

const BUSY = "The service is busy (HTTP 429).";

interface SubmitDeps
  extends Pick<TaskDeps, "connection" | "clock" | "signal" | "onProgress" | "onPreview" | "random"> {
  /** Called each time that the request has been sent, and its reply is awaited. */
  onSent?: (() => void) | undefined;
}

/**
 * Submits a request, which is accepted at most once. It is submitted again only if it certainly never left this machine,
 * was refused with 429, or costs nothing. Never throws.
 */
export async function submitOnce(spec: SubmitSpec, deps: SubmitDeps): Promise<SubmitResult> {
  const { log } = spec;
  const { provider } = deps.connection;
  const count = { notSent: 0, rateLimited: 0, lost: 0 };
  let giveUpAtMs: number | null = null;
  for (;;) {
    if (deps.signal.aborted) return { outcome: "not_sent", error: interruptedError(deps.signal, "no") };
    const notAdmitted = await provider.awaitAdmission?.(deps.signal);
    const sending = notAdmitted ? { reply: notAdmitted, gaveUp: null } : await attempt(spec, deps);
    if (sending === "interrupted") continue;
    if (sending instanceof ImggenError) return { outcome: "not_sent", error: sending };
    const { reply, gaveUp } = sending;
    if (reply.outcome === "not_sent") {
      if (deps.signal.aborted) return { outcome: "not_sent", error: interruptedError(deps.signal, "no") };
      count.notSent += 1;
      const error = reply.error ?? unreachable(reply.cause, deps);
      if (count.notSent >= SUBMIT_NOT_SENT.attempts || isLasting(reply))
        return { outcome: "not_sent", error };
      await log.again(error.message, false);
      await retryPause(backoffMs(SUBMIT_NOT_SENT, count.notSent, null, deps.random), error.message, deps);
    } else if (reply.outcome === "rate_limited") {
      count.rateLimited += 1;
      const now = deps.clock.monotonicMs();
      giveUpAtMs ??= now + spec.patienceMs;
      const leftMs = giveUpAtMs - now;
      const tooLong = (reply.retryAfterMs ?? 0) > leftMs;
      if (count.rateLimited >= SUBMIT_RATE_LIMITED.attempts || tooLong)
        return { outcome: "refused", error: reply.error };
      const delayMs = backoffMs(SUBMIT_RATE_LIMITED, count.rateLimited, reply.retryAfterMs, deps.random);
      const why = spec.turn === null ? BUSY : reply.error.message;
      await log.rateLimited(why, Math.max(delayMs, leftMs));
      await retryPause(delayMs, why, deps);
    } else if (reply.outcome === "unknown" && gaveUp === null && count.lost < spec.lostRetries) {
      count.lost += 1;
      await log.again(reply.why, true);
      await retryPause(backoffMs(SUBMIT_LOST, count.lost, null, deps.random), `${reply.why}.`, deps, true);
    } else {
      return conclude(reply, gaveUp, deps);
    }
  }
}

/** Whether what kept a request from being sent is the same in a moment: a certificate, a full disk. */
export function isLasting({ cause, error }: Extract<SubmitReply, { outcome: "not_sent" }>): boolean {
  return error?.type === "save_failed" || !isWorthRetry(cause);
}

interface Attempt {
  reply: SubmitReply;
  gaveUp: GivenUp | null;
}

/** One attempt, in its turn. @returns why there was none: a signal came first, or an error keeps it from being made */
async function attempt(spec: SubmitSpec, deps: SubmitDeps): Promise<Attempt | ImggenError | "interrupted"> {
  const { turn: takeTurn, log, job } = spec;
  const { provider } = deps.connection;
  const turn = takeTurn === null ? null : await takeTurn().catch(asError);
  if (turn instanceof ImggenError) return deps.signal.aborted ? "interrupted" : turn;
  let keepMs = 0;
  try {
    // The signal, or an outage, may have come while its turn was waited for.
    if (deps.signal.aborted) return "interrupted";
    const notAdmitted = turn && (await provider.awaitAdmission?.(deps.signal));
    if (notAdmitted) return { reply: notAdmitted, gaveUp: null };
    const refusal = await log.begin(spec.limitMs ?? provider.limits.submitMs);
    if (refusal) return refusal;
    if (deps.signal.aborted) return "interrupted";
    deps.onProgress({ type: "submitting", ...(spec.turn !== null && { taskId: job.taskId }) });
    const made = await submitWithGrace(spec, deps);
    const { reply } = made;
    if (reply.outcome === "unknown" && reply.isStopped === false) keepMs = keptMs(made.gaveUp, spec);
    return made;
  } finally {
    await turn?.release(keepMs).catch(() => {});
  }
}

/** What was not waited for may be at work for so long at most, in milliseconds: more would hold up the user's next try. */
const MOST_KEPT_MS = 30_000;

/** For how long the turn of a request is kept that was given up, and that the other side may still be at work on. */
function keptMs(gaveUp: GivenUp | null, { limitMs }: SubmitSpec): number {
  if (gaveUp === null || limitMs === null) return 0;
  return gaveUp === "time limit" ? limitMs : Math.min(limitMs, MOST_KEPT_MS);
}

function asError(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new NetworkError(`Nothing was sent: its turn could not be waited for (${why}).`, { cause: error });
}

function conclude(
  reply: Exclude<SubmitReply, { outcome: "not_sent" | "rate_limited" }>,
  gaveUp: GivenUp | null,
  { signal, connection }: Pick<SubmitDeps, "signal" | "connection">,
): SubmitResult {
  if (reply.outcome === "refused") return { ...reply, error: withTopUp(reply.error, connection.topUpHint) };
  if (reply.outcome !== "unknown") return reply;
  if (gaveUp === "signal" || signal.aborted)
    return { outcome: "unknown", error: interruptedError(signal, "unknown"), reply, gaveUp: "signal" };
  return { outcome: "unknown", error: outcomeUnknown(reply), reply, gaveUp };
}

/** The error of a request that was sent, and whose reply is lost or cannot be used. */
export function outcomeUnknown({ why, kept, excerpt, cause }: UnknownReply): OutcomeUnknownError {
  const where = kept ? ` What arrived is kept in ${kept}.` : "";
  return new OutcomeUnknownError(
    `The request was sent, but whether it was accepted is not known: ${why}.${where}`,
    { cause, mentionedTaskId: taskIdIn(excerpt) },
  );
}

/** Adds a hint on how to add credits, if that is known. */
function withTopUp(error: ImggenError, hint: string | null | undefined): ImggenError {
  if (!hint || !(error instanceof InsufficientCreditsError)) return error;
  return new InsufficientCreditsError(error.message, {
    hint,
    key: error.key ?? undefined,
    charged: error.charged,
    cause: error,
  });
}

/** One submit. Once it has left, a signal does not cut it off at once: its id, or what was paid for, may be on the way. */
async function submitWithGrace(spec: SubmitSpec, deps: SubmitDeps): Promise<Attempt> {
  const { job, graceMs, limitMs, timeoutMs, onWarning } = spec;
  const { provider } = deps.connection;
  const cutOff = new AbortController();
  const over = new AbortController();
  let sent = false;
  let gaveUp: GivenUp | null = null;
  const giveUp = (why: GivenUp, reason: unknown) => {
    gaveUp ??= why;
    cutOff.abort(reason);
  };
  const after = (ms: number, work: () => void) => void deps.clock.sleep(ms, over.signal).then(work, () => {});
  const onAbort = () => {
    const { reason } = deps.signal;
    // Only what is free is given up where the task was cancelled.
    if (!sent || graceMs === 0 || reason instanceof CancelledError) return giveUp("signal", reason);
    const taskId = spec.turn === null ? null : job.taskId;
    deps.onProgress({
      type: "submit_interrupted",
      taskId,
      waitMs: Number.isFinite(graceMs) ? graceMs : null,
    });
    if (Number.isFinite(graceMs)) after(graceMs, () => giveUp("signal", reason));
  };
  deps.signal.addEventListener("abort", onAbort, { once: true });
  if (limitMs !== null) after(limitMs, () => giveUp("time limit", timeLimit(limitMs)));
  if (timeoutMs !== null) after(timeoutMs, () => giveUp("timeout", new Error("not waited for")));
  try {
    const onSent = () => {
      sent = true;
      deps.onSent?.();
    };
    const onProgress = (share: number) =>
      deps.onProgress({ type: "progress", taskId: job.taskId, share, waiting: null });
    const { onPreview } = deps;
    const { signal } = cutOff;
    const reply = await provider.submit(job, { signal, onSent, onProgress, onPreview, onWarning });
    return { reply, gaveUp: reply.outcome === "unknown" ? gaveUp : null };
  } catch (cause) {
    // A bug after the request was sent: it may have been charged.
    const why = cause instanceof Error ? cause.message : String(cause);
    const reply: SubmitReply = sent
      ? { outcome: "unknown", why, excerpt: null, cause }
      : { outcome: "not_sent", cause: new TransportError(why, { sent: false, cause }) };
    return { reply, gaveUp: null };
  } finally {
    over.abort();
    deps.signal.removeEventListener("abort", onAbort);
  }
}

function unreachable(cause: unknown, deps: SubmitDeps): NetworkError {
  const { message, hint } = describeConnectionError(cause, deps.connection.serviceUrl);
  return new NetworkError(message, { hint, cause });
}

/** A signal ends it early, which the loop sees itself. */
async function retryPause(delayMs: number, why: string, deps: SubmitDeps, isLost = false): Promise<void> {
  deps.onProgress({ type: "submit_retry", why, isLost, delayMs });
  await pause(delayMs, deps);
}
