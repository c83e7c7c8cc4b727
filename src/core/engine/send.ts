import { InsufficientCreditsError, NetworkError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { backoffMs } from "../../api/retry.ts";
import { TransportError } from "../../api/transport.ts";
import { isoTime } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import {
  type SubmitReply,
  TimeLimitError,
  type UnknownReply,
  type Waiting,
} from "../../providers/provider.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import { CANCELLED, displayId, type RequestState } from "../../task/task.ts";
import { AnsweredError, CancelledError, isAccountError, PendingError } from "../errors.ts";
import { giveBackToCaps, takeFromCaps } from "../limits/caps.ts";
import { type Gate, isPermanent, type Pass } from "../limits/gate.ts";
import { POLICY } from "../limits/policy.ts";
import type { Turn } from "../limits/turns.ts";
import { pause } from "../polling/wait.ts";
import { startUnlessSubmitted } from "./again.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import { answersWithId, providerName, type TaskDeps } from "./deps.ts";
import { createJob } from "./jobs.ts";
import { recordReply } from "./reply-lines.ts";

export interface SubmitSpec {
  /** Timeout of each attempt at a free provider; null for none. */
  timeoutMs: number | null;
  /** Maximum total wait for rate limits (Retry-After). */
  maxWaitMs: number;
  /** Maximum number of attempts that fail before they are sent. Infinity if the gate alone decides when to stop. */
  maxUnsent: number;
  isContinued: boolean;
  /** Attempt that the intent already records as sent, with its pass from the gate. */
  first?: { attempt: string; pass: Pass } | undefined;
  onSent?: (() => void) | undefined;
  /** Called if the provider ignored a part of the request. */
  onWarning?: ((message: string) => void) | undefined;
  onAnswered?: (request: number) => void;
}

type AbandonReason = "time limit" | "signal" | "timeout" | "cancelled";

interface SubmittedAttempt {
  attempt: string;
  reply: SubmitReply;
  abandonReason: AbandonReason | null;
}

/**
 * Submits the waiting requests of a task, one after the other. When the promise resolves, all replies are recorded.
 * @returns the error that stopped the submits, or null if every request has ended or was accepted
 */
export async function submitRequests(
  claimedTask: ClaimedTask,
  spec: SubmitSpec,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  let { first } = spec;
  for (const index of claimedTask.task.requests.keys()) {
    const isFirst = first !== undefined && index === 0;
    if (!isFirst && claimedTask.task.requests[index]?.state !== "waiting") continue;
    const stop = await new RequestSubmitter(claimedTask, index, spec, deps).run(isFirst ? first : undefined);
    first = undefined;
    const { state } = claimedTask.task.requests[index] as RequestState;
    if (state === "accepted" || state === "completed") spec.onAnswered?.(index);
    if (stop !== null) return stop;
  }
  return null;
}

/**
 * Submits one request so that it is charged at most once. Retries only an attempt that was not sent, was rate limited
 * or was free.
 */
class RequestSubmitter {
  readonly #claimedTask: ClaimedTask;
  readonly #index: number;
  readonly #spec: SubmitSpec;
  readonly #deps: TaskDeps;
  readonly #gate: Gate;
  readonly #signal: AbortSignal;
  #unsentCount = 0;
  #rateLimitedCount = 0;
  #deadlineMs = Number.POSITIVE_INFINITY;

  constructor(claimedTask: ClaimedTask, index: number, spec: SubmitSpec, deps: TaskDeps) {
    this.#claimedTask = claimedTask;
    this.#index = index;
    this.#spec = spec;
    this.#deps = deps;
    this.#gate = deps.gate;
    const { signal, keeping } = deps;
    this.#signal = keeping ? AbortSignal.any([signal, keeping.pause]) : signal;
  }

  get #isPaid(): boolean {
    return this.#claimedTask.task.intent.isPaid;
  }

  get #request(): RequestState {
    return this.#claimedTask.task.requests[this.#index] as RequestState;
  }

  async run(first: SubmitSpec["first"]): Promise<ImggenError | null> {
    const signal = this.#signal;
    let startedAttempt = first;
    for (;;) {
      if (signal.aborted && startedAttempt === undefined)
        return this.#endUnsent(interruptedError(signal, "no"));
      const pass = startedAttempt?.pass ?? (await this.#gate.enter(signal).catch(() => null));
      if (pass === null) {
        if (signal.aborted) continue;
        return this.#endUnsent(gateError(this.#gate));
      }
      const submission = await this.#attempt(pass, startedAttempt?.attempt).finally(() =>
        this.#gate.leave(pass),
      );
      startedAttempt = undefined;
      if (submission === "again") continue;
      if (submission instanceof CancelledError) return this.#endCancelled(null);
      if (submission instanceof ImggenError) return this.#endUnsent(submission);
      const end = await this.#handleReply(submission);
      if (end !== "again") return end;
    }
  }

  /** Waits for the request's turn and makes one attempt. @returns "again" to retry, or the error that prevented it */
  async #attempt(
    pass: Pass,
    startedAttempt: string | undefined,
  ): Promise<SubmittedAttempt | ImggenError | "again"> {
    const { connection, ledger } = this.#deps;
    const { task } = this.#claimedTask;
    // Checked before the wait for the turn, because a process that has taken over the task might have the same turn.
    if (startedAttempt === undefined && this.#claimedTask.isLost) return this.#claimedTask.takenOverError();
    const limits = new AttemptLimits(this.#claimedTask, this.#index, this.#spec, this.#deps);
    let turn: Turn | null = null;
    let keepMs = 0;
    try {
      if (startedAttempt === undefined) turn = await this.#takeTurn(limits.signal);
      if (limits.abandonReason === "cancelled") return new CancelledError();
      // A signal, an outage or a rate limit might have occurred during the wait for the turn.
      if (startedAttempt === undefined && !this.#gate.check(pass, this.#signal)) return "again";
      const attempt = startedAttempt ?? (await this.#startAttempt());
      if (attempt instanceof ImggenError) return attempt;
      const { taskId } = task.intent;
      if (!answersWithId(connection.provider)) await ledger.work.begin(task.id, this.#index, attempt);
      this.#deps.onProgress({ type: "submitting", ...(taskId !== null && { taskId }) });
      const reply = await this.#submit(attempt, limits);
      this.#gate.report(pass, reply, limits.signal, task.id, this.#spec.maxWaitMs);
      const abandonReason =
        reply.outcome === "unknown" || reply.outcome === "not_sent" ? limits.abandonReason : null;
      if (reply.outcome === "unknown" && reply.isStopped === false)
        keepMs = turnKeepMs(abandonReason, this.#limitMs);
      return { attempt, reply, abandonReason };
    } catch (error) {
      if (limits.abandonReason === "cancelled") return new CancelledError();
      if (this.#signal.aborted) return "again";
      return this.#toError(error);
    } finally {
      limits.end();
      await turn?.release(keepMs).catch(() => {});
    }
  }

  #toError(error: unknown): ImggenError {
    if (error instanceof ImggenError) return error;
    const hint = "Nothing was sent. Free some space or fix the folder's permissions.";
    return new StateFolderError(this.#deps.ledger.folder, error, { hint });
  }

  get #limitMs(): number {
    return this.#claimedTask.task.intent.requestMs;
  }

  /** Waits for the request's turn at its provider. @throws the reason of the signal, or an error of the disk */
  async #takeTurn(signal: AbortSignal): Promise<Turn | null> {
    const { queue } = this.#deps.connection.generator ?? {};
    if (!queue) return null;
    const { id } = this.#claimedTask.task;
    const taskId = displayId(this.#claimedTask.task);
    const requestKey = `${id}-${String(this.#index).padStart(2, "0")}`;
    const onWait = (waiting: Waiting) =>
      this.#deps.onProgress({ type: "progress", taskId, request: this.#index, share: null, waiting });
    return queue.take(requestKey, { signal, onWait });
  }

  /**
   * Makes the last checks and records the attempt, after which the request counts as sent.
   * @returns the attempt's name, or the error that prevented the attempt
   */
  async #startAttempt(): Promise<string | ImggenError> {
    const { task } = this.#claimedTask;
    // A cancel after this check is handled as the cancel of a request in flight.
    if (this.#claimedTask.isCancelled()) return new CancelledError();
    const isFirst = task.requests.every(({ attempts }) => attempts.length === 0);
    return task.isOnce && isFirst
      ? startUnlessSubmitted(task, this.#deps, (hasTurn) => this.#recordStart(hasTurn))
      : this.#recordStart(() => true);
  }

  /** @param hasTurn whether no other process can have started the same request */
  async #recordStart(hasTurn: () => boolean): Promise<string | ImggenError> {
    const { caps } = this.#deps;
    const { task } = this.#claimedTask;
    const overCap = await takeFromCaps(caps, task, this.#index);
    if (overCap !== null) return overCap;
    const attempt = await this.#claimedTask.start(this.#index);
    if (typeof attempt !== "string") await this.#giveBackToCaps();
    else if (!hasTurn()) {
      await this.#recordWaiting({ attempt }, "another process had begun the same request");
      // The caller withdraws the task, because the next `resume` would otherwise submit a second identical request.
      return new AnsweredError(null);
    }
    return attempt;
  }

  async #submit(attempt: string, limits: AttemptLimits): Promise<SubmitReply> {
    const { connection, ledger, onPreview } = this.#deps;
    const job = createJob(this.#claimedTask.task, this.#index, attempt, ledger.work);
    const { taskId } = job;
    const onProgress = (share: number) =>
      this.#deps.onProgress({ type: "progress", taskId, request: this.#index, share, waiting: null });
    const onSent = () => {
      limits.isSent = true;
      this.#spec.onSent?.();
    };
    limits.begin();
    const { signal } = limits;
    try {
      const reply = await connection.provider.submit(job, {
        signal,
        onSent,
        onProgress,
        onPreview,
        onWarning: this.#spec.onWarning,
        onUnstored: (message) => this.#deps.onProgress({ type: "ledger_warning", message }),
      });
      return reply.outcome === "refused"
        ? { ...reply, error: addTopUpHint(reply.error, connection.topUpHint) }
        : reply;
    } catch (cause) {
      // The error is a bug. If the request was sent, it might have been charged, so its outcome is unknown.
      const why = cause instanceof Error ? cause.message : String(cause);
      return limits.isSent
        ? { outcome: "unknown", why, excerpt: null, cause }
        : { outcome: "not_sent", cause: new TransportError(why, { wasSent: false, cause }) };
    }
  }

  /** @returns null to continue with the next request, "again" to retry this one, or the error that stops the task */
  async #handleReply(submission: SubmittedAttempt): Promise<ImggenError | null | "again"> {
    const { reply, abandonReason } = submission;
    if (abandonReason === "cancelled") return this.#endCancelled(submission);
    switch (reply.outcome) {
      case "not_sent": {
        this.#unsentCount += 1;
        const error = reply.error ?? unreachableError(reply.cause, this.#deps);
        await this.#recordWaiting(submission, error.message);
        if (this.#signal.aborted) return "again";
        if (this.#unsentCount >= this.#spec.maxUnsent || isPermanent(reply)) return this.#endUnsent(error);
        return this.#retry(error.message, false);
      }
      case "rate_limited": {
        // A rate limit is not counted if its cause can be a running job of this run or a model that still loads.
        if (!this.#gate.hasOpenJobs && !reply.isStarting) this.#rateLimitedCount += 1;
        const nowMs = this.#deps.clock.monotonicMs();
        this.#deadlineMs = Math.min(this.#deadlineMs, nowMs + this.#spec.maxWaitMs);
        await this.#recordWaiting(submission, reply.error.message);
        const isTooLong = (reply.retryAfterMs ?? 0) > this.#deadlineMs - nowMs;
        const isTooOften = this.#rateLimitedCount >= POLICY.submit.rateLimited.attempts;
        if (!this.#gate.keepsTrying && (isTooOften || isTooLong)) return this.#endUnsent(reply.error);
        return this.#retry(reply.error.message, false);
      }
      case "refused": {
        const { error } = reply;
        if (concernsAllRequests(error)) return this.#endRefused(submission, error);
        await this.#recordReply(submission);
        await this.#giveBackToCaps();
        return null;
      }
      case "unknown":
        return this.#handleLostReply(submission, reply);
      case "accepted":
        await this.#recordReply(submission);
        this.#reportAccepted(reply.taskId);
        return this.#stopError();
      case "made":
        await this.#recordReply(submission);
        return this.#stopError();
    }
  }

  #reportAccepted(jobId: string): void {
    const taskId = this.#claimedTask.task.intent.taskId ?? jobId;
    this.#deps.onProgress({ type: "accepted", taskId, request: this.#index });
  }

  async #stopError(): Promise<ImggenError | null> {
    if (this.#claimedTask.isLost) return this.#claimedTask.takenOverError();
    const { signal } = this.#deps;
    return signal.aborted ? interruptedError(signal, this.#claimedTask.charged) : null;
  }

  async #handleLostReply(
    submission: SubmittedAttempt,
    reply: UnknownReply,
  ): Promise<ImggenError | null | "again"> {
    const { abandonReason } = submission;
    const { signal } = this.#deps;
    if (reply.isAskable && (abandonReason === null || this.#isPaid))
      return outcomePendingError(this.#claimedTask, reply, this.#deps);
    if (!this.#isPaid && abandonReason !== "time limit") {
      if (abandonReason !== null) {
        await this.#recordWaiting(submission, "the command stopped waiting for it");
        return abandonReason === "signal" ? interruptedError(signal, "no") : timedOutError(this.#claimedTask);
      }
      if (this.#request.possibleSubmits < POLICY.submit.lost.attempts) {
        await this.#recordLost(submission, reply);
        return this.#retry(`${reply.why}.`, true);
      }
    }
    await this.#recordReply(submission, abandonReason === "time limit");
    if (this.#claimedTask.isLost) return this.#claimedTask.takenOverError();
    if (signal.aborted) return interruptedError(signal, this.#isPaid ? "unknown" : "no");
    return null;
  }

  async #recordLost({ attempt }: SubmittedAttempt, { why }: UnknownReply): Promise<void> {
    await this.#claimedTask.record({ type: "unknown", at: this.#isoNow, why, request: this.#index, attempt });
  }

  #recordReply({ attempt, reply }: SubmittedAttempt, isOverTime = false): Promise<boolean> {
    return recordReply(this.#claimedTask, { request: this.#index, attempt, reply, isOverTime }, this.#deps);
  }

  get #isoNow(): string {
    return isoTime(this.#deps.clock.now());
  }

  async #recordWaiting({ attempt }: Pick<SubmittedAttempt, "attempt">, why: string): Promise<void> {
    await this.#claimedTask.record({ type: "waiting", at: this.#isoNow, why, request: this.#index, attempt });
    await this.#giveBackToCaps();
  }

  /** Called after the ledger has recorded that the request was not charged. */
  async #giveBackToCaps(): Promise<void> {
    await giveBackToCaps(this.#deps.caps, this.#claimedTask.task, this.#index);
  }

  /** Waits for the backoff after a lost reply. After any other failure, the gate delays the next attempt. */
  async #retry(why: string, isLost: boolean): Promise<"again"> {
    const { random } = this.#deps;
    const lostBackoffMs = isLost
      ? backoffMs(POLICY.submit.lost, this.#request.possibleSubmits, null, random)
      : 0;
    const delayMs = Math.max(lostBackoffMs, this.#gate.waitMs);
    this.#deps.onProgress({ type: "submit_retry", why, isLost, delayMs });
    if (isLost) await pause(lostBackoffMs, this.#deps);
    return "again";
  }

  async #endRefused(submission: SubmittedAttempt, error: ImggenError): Promise<ImggenError | null> {
    if (this.#outlivesRun) {
      await this.#recordWaiting(submission, error.message);
      return error;
    }
    await this.#recordReply({ ...submission, reply: { outcome: "refused", error } });
    await this.#giveBackToCaps();
    await this.#endWaiting(error.message);
    return error;
  }

  /** Records the waiting requests as not sent, unless the task continues after this run. */
  async #endUnsent(error: ImggenError): Promise<ImggenError | null> {
    if (this.#claimedTask.isLost) return this.#claimedTask.takenOverError();
    if (!this.#outlivesRun) await this.#endWaiting(error.message);
    return error;
  }

  /**
   * Whether the task continues after this run, because it began in an earlier run, belongs to a server, or has other
   * requests that were sent.
   */
  get #outlivesRun(): boolean {
    const { requests } = this.#claimedTask.task;
    if (this.#spec.isContinued || this.#deps.keeping !== undefined) return true;
    return requests.some((request, at) => {
      // The attempt that has just failed does not count.
      if (at === this.#index) return request.possibleSubmits > (request.state === "started" ? 1 : 0);
      return request.possibleSubmits > 0 || wasSubmitted(request);
    });
  }

  /** Records every waiting request as not sent. This process must still have the claim. */
  async #endWaiting(why: string): Promise<void> {
    for (const [request, { state }] of this.#claimedTask.task.requests.entries())
      if (state === "waiting")
        await this.#claimedTask.record({ type: "not_sent", at: this.#isoNow, why, request });
  }

  /** Ends a cancelled task: waiting requests are not sent, and a free request in flight is abandoned. */
  async #endCancelled(submission: SubmittedAttempt | null): Promise<ImggenError | null> {
    if (this.#claimedTask.isLost) return this.#claimedTask.takenOverError();
    if (
      submission !== null &&
      submission.reply.outcome !== "unknown" &&
      submission.reply.outcome !== "not_sent"
    ) {
      await this.#recordReply(submission);
    } else if (submission?.reply.outcome === "not_sent") {
      await this.#recordWaiting(submission, CANCELLED);
    } else if (submission !== null) {
      const facts = { at: this.#isoNow, request: this.#index, attempt: submission.attempt };
      await this.#claimedTask.record({
        type: "failed",
        ...facts,
        errorCode: null,
        why: `${CANCELLED}.`,
        charged: "no",
      });
    }
    await this.#endWaiting(CANCELLED);
    return null;
  }
}

function wasSubmitted({ state }: RequestState): boolean {
  return state !== "waiting" && state !== "not_sent";
}

function concernsAllRequests(error: ImggenError): boolean {
  return isAccountError(error) || error.type === "service_error";
}

/** An abandoned request keeps its turn for this time, because the provider might still work on the request. */
function turnKeepMs(abandonReason: AbandonReason | null, limitMs: number): number {
  if (abandonReason === null) return 0;
  return abandonReason === "time limit" ? limitMs : Math.min(limitMs, POLICY.submit.maxTurnKeepMs);
}

/**
 * Time limits and cancellation of an attempt. A paid request that was sent is abandoned only at its time limit or after
 * a signal's grace period.
 */
class AttemptLimits {
  isSent = false;
  abandonReason: AbandonReason | null = null;
  readonly #claimedTask: ClaimedTask;
  readonly #spec: SubmitSpec;
  readonly #deps: TaskDeps;
  readonly #abandonment = new AbortController();
  readonly #attemptEnd = new AbortController();
  readonly #stopWatching: () => void;

  constructor(claimedTask: ClaimedTask, index: number, spec: SubmitSpec, deps: TaskDeps) {
    this.#claimedTask = claimedTask;
    this.#spec = spec;
    this.#deps = deps;
    const { signal, keeping } = deps;
    const listenerOptions = { once: true, signal: this.#attemptEnd.signal };
    if (signal.aborted) this.#onAbort();
    signal.addEventListener("abort", () => this.#onAbort(), listenerOptions);
    if (keeping?.pause.aborted) this.#onPause(keeping.pause);
    keeping?.pause.addEventListener("abort", () => this.#onPause(keeping.pause), listenerOptions);
    this.#stopWatching = claimedTask.onCancel(() => {
      const isWaiting = claimedTask.task.requests[index]?.state === "waiting";
      if (isWaiting || !claimedTask.task.intent.isPaid) this.#abandon("cancelled", new CancelledError());
    });
  }

  get signal(): AbortSignal {
    return this.#abandonment.signal;
  }

  begin(): void {
    const { isPaid, requestMs } = this.#claimedTask.task.intent;
    const { timeoutMs } = this.#spec;
    if (!answersWithId(this.#deps.connection.provider))
      this.#abandonAfter(requestMs, "time limit", timeLimitError(requestMs));
    if (!isPaid && timeoutMs !== null) this.#abandonAfter(timeoutMs, "timeout", new Error("not waited for"));
  }

  end(): void {
    this.#stopWatching();
    this.#attemptEnd.abort();
  }

  /** Waits up to the grace period for the reply to a sent request, which can contain a job id or a paid image. */
  #onAbort(): void {
    const { reason } = this.#deps.signal;
    const { graceMs } = this;
    if (!this.isSent || graceMs === 0) {
      this.#abandon("signal", reason);
      return;
    }
    const { taskId } = this.#claimedTask.task.intent;
    this.#deps.onProgress({
      type: "submit_interrupted",
      taskId,
      waitMs: Number.isFinite(graceMs) ? graceMs : null,
    });
    if (Number.isFinite(graceMs)) this.#abandonAfter(graceMs, "signal", reason);
  }

  #onPause({ reason }: AbortSignal): void {
    if (!this.isSent) this.#abandon("signal", reason);
  }

  get graceMs(): number {
    const { keeping } = this.#deps;
    if (keeping) return keeping.graceMs;
    if (answersWithId(this.#deps.connection.provider)) return POLICY.submit.graceMs;
    return this.#claimedTask.task.intent.isPaid ? Number.POSITIVE_INFINITY : 0;
  }

  #abandonAfter(ms: number, why: AbandonReason, reason: unknown): void {
    void this.#deps.clock.sleep(ms, this.#attemptEnd.signal).then(
      () => this.#abandon(why, reason),
      () => {},
    );
  }

  #abandon(why: AbandonReason, reason: unknown): void {
    this.abandonReason ??= why;
    this.#abandonment.abort(reason);
  }
}

export function timeLimitError(ms: number): TimeLimitError {
  return new TimeLimitError(`no answer within ${formatDuration(ms)}`);
}

/** Error if the provider can report the outcome of a request only later. */
export function outcomePendingError(
  claimedTask: ClaimedTask,
  { why }: UnknownReply,
  deps: TaskDeps,
): ImggenError {
  if (deps.signal.aborted) return interruptedError(deps.signal, claimedTask.charged);
  const name = providerName(deps.connection);
  const message = `The outcome of task ${displayId(claimedTask.task)} at ${name} is not known yet: ${why}.`;
  return new PendingError(message, { charged: claimedTask.charged });
}

function timedOutError(claimedTask: ClaimedTask): PendingError {
  const message = `Task ${displayId(claimedTask.task)} is not finished yet: the wait has timed out.`;
  return new PendingError(message, { charged: claimedTask.charged });
}

function addTopUpHint(error: ImggenError, hint: string | null | undefined): ImggenError {
  if (!hint || !(error instanceof InsufficientCreditsError)) return error;
  return new InsufficientCreditsError(error.message, {
    hint,
    key: error.key ?? undefined,
    charged: error.charged,
    cause: error,
  });
}

export function gateError({ stopped, outage }: Gate): ImggenError {
  return stopped ?? outage?.refusal ?? new NetworkError(outage?.why ?? "The request was not attempted.");
}

function unreachableError(cause: unknown, { connection }: TaskDeps): NetworkError {
  const { message, hint } = describeConnectionError(cause, connection.serviceUrl);
  return new NetworkError(message, { hint, cause });
}
