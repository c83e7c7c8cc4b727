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
import { AnsweredError, CancelledError, isOfAccount, PendingError } from "../errors.ts";
import { giveBackTo, takeFrom } from "../limits/caps.ts";
import { type Gate, isLasting, type Pass } from "../limits/gate.ts";
import { POLICY } from "../limits/policy.ts";
import type { Turn } from "../limits/turns.ts";
import { pause } from "../polling/wait.ts";
import { onlyOne } from "./again.ts";
import { answersWithId, providerName, type TaskDeps } from "./deps.ts";
import type { HeldTask } from "./held.ts";
import { createJob } from "./jobs.ts";
import { recordReply } from "./reply-lines.ts";

/** Options for submitting the requests of a task. All times are in milliseconds. */
export interface SendSpec {
  /** Timeout of a free request, from its start; null for none. */
  timeoutMs: number | null;
  /** Maximum total wait that the provider may ask for by Retry-After. */
  maxWaitMs: number;
  /** Maximum number of attempts that are not sent. Of a batch or a server, the gate alone decides. */
  maxUnsent: number;
  /** Whether an earlier run has begun the task. */
  isContinued: boolean;
  /** The attempt of the intent's line, and the pass that it has: it counts as sent already. */
  first?: { attempt: string; pass: Pass } | undefined;
  /** Called each time that a request was sent. */
  onSent?: (() => void) | undefined;
  /** Called with what of a request the provider has left out. */
  onWarning?: ((message: string) => void) | undefined;
  /** Called with each request that was accepted or made. */
  onAnswered?: (request: number) => void;
}

/** Reason to stop waiting for the reply to a request. */
type GivenUp = "time limit" | "signal" | "timeout" | "cancelled";

/** An attempt that was made, and its reply. */
interface Sent {
  attempt: string;
  reply: SubmitReply;
  gaveUp: GivenUp | null;
}

/**
 * Submits the requests of a task that wait, one after the other. Everything that comes of them is on disk when this returns.
 * @returns why no more is submitted; null if each request is at its end, or accepted
 */
export async function sendRequests(
  heldTask: HeldTask,
  spec: SendSpec,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  let { first } = spec;
  for (const index of heldTask.task.requests.keys()) {
    const isFirst = first !== undefined && index === 0;
    if (!isFirst && heldTask.task.requests[index]?.state !== "waiting") continue;
    const stop = await new Sending(heldTask, index, spec, deps).run(isFirst ? first : undefined);
    first = undefined;
    const { state } = heldTask.task.requests[index] as RequestState;
    if (state === "accepted" || state === "completed") spec.onAnswered?.(index);
    if (stop !== null) return stop;
  }
  return null;
}

/** One request, which is accepted at most once: it is submitted again only if it was not sent, not taken, or costs nothing. */
class Sending {
  readonly #held: HeldTask;
  readonly #index: number;
  readonly #spec: SendSpec;
  readonly #deps: TaskDeps;
  readonly #gate: Gate;
  /** Ends waits before an attempt. */
  readonly #signal: AbortSignal;
  #unsent = 0;
  #busy = 0;
  #giveUpAtMs = Number.POSITIVE_INFINITY;

  constructor(heldTask: HeldTask, index: number, spec: SendSpec, deps: TaskDeps) {
    this.#held = heldTask;
    this.#index = index;
    this.#spec = spec;
    this.#deps = deps;
    this.#gate = deps.gate;
    const { signal, keeping } = deps;
    this.#signal = keeping ? AbortSignal.any([signal, keeping.pause]) : signal;
  }

  get #isPaid(): boolean {
    return this.#held.task.intent.isPaid;
  }

  get #request(): RequestState {
    return this.#held.task.requests[this.#index] as RequestState;
  }

  /** @returns why this process goes no further with the task; null if it does */
  async run(first: SendSpec["first"]): Promise<ImggenError | null> {
    const signal = this.#signal;
    let next = first;
    for (;;) {
      if (signal.aborted && next === undefined) return this.#notSent(interruptedError(signal, "no"));
      const pass = next?.pass ?? (await this.#gate.enter(signal).catch(() => null));
      if (pass === null) {
        if (signal.aborted) continue;
        return this.#notSent(notTried(this.#gate));
      }
      const submission = await this.#attempt(pass, next?.attempt).finally(() => this.#gate.leave(pass));
      next = undefined;
      if (submission === "again") continue;
      if (submission instanceof CancelledError) return this.#cancelled(null);
      if (submission instanceof ImggenError) return this.#notSent(submission);
      const end = await this.#after(submission);
      if (end !== "again") return end;
    }
  }

  /** One attempt, in its turn. @returns an error that keeps it from being made; "again": it must be tried anew */
  async #attempt(pass: Pass, startedAttempt: string | undefined): Promise<Sent | ImggenError | "again"> {
    const { connection, ledger } = this.#deps;
    const { task } = this.#held;
    // Another process may have the turn that this one would wait for.
    if (startedAttempt === undefined && this.#held.isLost) return this.#held.takenOver();
    const waits = new AttemptLimits(this.#held, this.#index, this.#spec, this.#deps);
    let turn: Turn | null = null;
    let keepMs = 0;
    try {
      if (startedAttempt === undefined) turn = await this.#turn(waits.signal);
      if (waits.gaveUp === "cancelled") return new CancelledError();
      // The signal, an outage or a pause may have come while its turn was waited for.
      if (startedAttempt === undefined && !this.#gate.check(pass, this.#signal)) return "again";
      const attempt = startedAttempt ?? (await this.#start());
      if (attempt instanceof ImggenError) return attempt;
      const { taskId } = task.intent;
      if (!answersWithId(connection.provider)) await ledger.work.begin(task.id, this.#index, attempt);
      this.#deps.onProgress({ type: "submitting", ...(taskId !== null && { taskId }) });
      const reply = await this.#submit(attempt, waits);
      this.#gate.report(pass, reply, waits.signal, task.id, this.#spec.maxWaitMs);
      const gaveUp = reply.outcome === "unknown" || reply.outcome === "not_sent" ? waits.gaveUp : null;
      if (reply.outcome === "unknown" && reply.isStopped === false) keepMs = keptMs(gaveUp, this.#limitMs);
      return { attempt, reply, gaveUp };
    } catch (error) {
      if (waits.gaveUp === "cancelled") return new CancelledError();
      if (this.#signal.aborted) return "again";
      return this.#unsendable(error);
    } finally {
      waits.end();
      await turn?.release(keepMs).catch(() => {});
    }
  }

  #unsendable(error: unknown): ImggenError {
    if (error instanceof ImggenError) return error;
    const hint = "Nothing was sent. Free some space or fix the folder's permissions.";
    return new StateFolderError(this.#deps.ledger.folder, error, { hint });
  }

  get #limitMs(): number {
    return this.#held.task.intent.requestMs;
  }

  /** Waits for the request's turn at its provider. @throws the signal's reason, or the disk's error */
  async #turn(signal: AbortSignal): Promise<Turn | null> {
    const { line } = this.#deps.connection.generator ?? {};
    if (!line) return null;
    const { id } = this.#held.task;
    const taskId = displayId(this.#held.task);
    const requestKey = `${id}-${String(this.#index).padStart(2, "0")}`;
    const onWait = (waiting: Waiting) =>
      this.#deps.onProgress({ type: "progress", taskId, request: this.#index, share: null, waiting });
    return line.take(requestKey, { signal, onWait });
  }

  /** The last look before the request counts as sent. @returns the attempt, or why it must not be made */
  async #start(): Promise<string | ImggenError> {
    const { task } = this.#held;
    // A mark that comes later finds the task started.
    if (this.#held.isCancelled()) return new CancelledError();
    const isFirst = task.requests.every(({ attempts }) => attempts.length === 0);
    return task.isOnce && isFirst
      ? onlyOne(task, this.#deps, (isKept) => this.#startNow(isKept))
      : this.#startNow(() => true);
  }

  /** @param isKept whether no other process may have begun the same request meanwhile */
  async #startNow(isKept: () => boolean): Promise<string | ImggenError> {
    const { caps } = this.#deps;
    const { task } = this.#held;
    const overCap = await takeFrom(caps, task, this.#index);
    if (overCap !== null) return overCap;
    const attempt = await this.#held.start(this.#index);
    if (typeof attempt !== "string") await this.#giveBack();
    else if (!isKept()) {
      await this.#waits({ attempt }, "another process had begun the same request");
      // It is withdrawn: if it waited, the next `resume` would submit it beside the other.
      return new AnsweredError(null);
    }
    return attempt;
  }

  async #submit(attempt: string, waits: AttemptLimits): Promise<SubmitReply> {
    const { connection, ledger, onPreview } = this.#deps;
    const job = createJob(this.#held.task, this.#index, attempt, ledger.work);
    const { taskId } = job;
    const onProgress = (share: number) =>
      this.#deps.onProgress({ type: "progress", taskId, request: this.#index, share, waiting: null });
    const onSent = () => {
      waits.isSent = true;
      this.#spec.onSent?.();
    };
    waits.begin();
    const { signal } = waits;
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
        ? { ...reply, error: withTopUp(reply.error, connection.topUpHint) }
        : reply;
    } catch (cause) {
      // A bug after the request was sent: it may have been charged.
      const why = cause instanceof Error ? cause.message : String(cause);
      return waits.isSent
        ? { outcome: "unknown", why, excerpt: null, cause }
        : { outcome: "not_sent", cause: new TransportError(why, { wasSent: false, cause }) };
    }
  }

  /** @returns why this process goes no further with the task; null if it does; "again": the request is submitted again */
  async #after(submission: Sent): Promise<ImggenError | null | "again"> {
    const { reply, gaveUp } = submission;
    if (gaveUp === "cancelled") return this.#cancelled(submission);
    switch (reply.outcome) {
      case "not_sent": {
        this.#unsent += 1;
        const error = reply.error ?? unreachable(reply.cause, this.#deps);
        await this.#waits(submission, error.message);
        if (this.#signal.aborted) return "again";
        if (this.#unsent >= this.#spec.maxUnsent || isLasting(reply)) return this.#notSent(error);
        return this.#again(error.message, false);
      }
      case "rate_limited": {
        // An open job of this run, or a model that is loaded, may be all that it has to wait for.
        if (!this.#gate.hasOpenJobs && !reply.isStarting) this.#busy += 1;
        const nowMs = this.#deps.clock.monotonicMs();
        this.#giveUpAtMs = Math.min(this.#giveUpAtMs, nowMs + this.#spec.maxWaitMs);
        await this.#waits(submission, reply.error.message);
        const isTooLong = (reply.retryAfterMs ?? 0) > this.#giveUpAtMs - nowMs;
        const isOften = this.#busy >= POLICY.submit.rateLimited.attempts;
        if (!this.#gate.keepsTrying && (isOften || isTooLong)) return this.#notSent(reply.error);
        return this.#again(reply.error.message, false);
      }
      case "refused": {
        const { error } = reply;
        if (isOfAll(error)) return this.#refusedAll(submission, error);
        await this.#record(submission);
        await this.#giveBack();
        return null;
      }
      case "unknown":
        return this.#lost(submission, reply);
      case "accepted":
        await this.#record(submission);
        this.#accepted(reply.taskId);
        return this.#stop();
      case "made":
        await this.#record(submission);
        return this.#stop();
    }
  }

  #accepted(providersId: string): void {
    const taskId = this.#held.task.intent.taskId ?? providersId;
    this.#deps.onProgress({ type: "accepted", taskId, request: this.#index });
  }

  /** Error after which no further request is submitted; null for none. */
  async #stop(): Promise<ImggenError | null> {
    if (this.#held.isLost) return this.#held.takenOver();
    const { signal } = this.#deps;
    return signal.aborted ? interruptedError(signal, this.#held.charged) : null;
  }

  async #lost(submission: Sent, reply: UnknownReply): Promise<ImggenError | null | "again"> {
    const { gaveUp } = submission;
    const { signal } = this.#deps;
    if (reply.isAskable && (gaveUp === null || this.#isPaid))
      return askedLater(this.#held, reply, this.#deps);
    if (!this.#isPaid && gaveUp !== "time limit") {
      if (gaveUp !== null) {
        await this.#waits(submission, "it was not waited for");
        return gaveUp === "signal" ? interruptedError(signal, "no") : timeIsUp(this.#held);
      }
      if (this.#request.tries < POLICY.submit.lost.attempts) {
        await this.#recordLost(submission, reply);
        return this.#again(`${reply.why}.`, true);
      }
    }
    await this.#record(submission, gaveUp === "time limit");
    if (this.#held.isLost) return this.#held.takenOver();
    if (signal.aborted) return interruptedError(signal, this.#isPaid ? "unknown" : "no");
    return null;
  }

  async #recordLost({ attempt }: Sent, { why }: UnknownReply): Promise<void> {
    await this.#held.record({ type: "unknown", at: this.#now, why, request: this.#index, attempt });
  }

  #record({ attempt, reply }: Sent, isOverTime = false): Promise<boolean> {
    return recordReply(this.#held, { request: this.#index, attempt, reply, isOverTime }, this.#deps);
  }

  get #now(): string {
    return isoTime(this.#deps.clock.now());
  }

  /** Records that an attempt was not taken: the request waits. */
  async #waits({ attempt }: Pick<Sent, "attempt">, why: string): Promise<void> {
    await this.#held.record({ type: "waiting", at: this.#now, why, request: this.#index, attempt });
    await this.#giveBack();
  }

  /** Takes the request off the caps once it is on record that it was not charged. */
  async #giveBack(): Promise<void> {
    await giveBackTo(this.#deps.caps, this.#held.task, this.#index);
  }

  /** The gate waits before the next attempt; after a lost reply, this does. */
  async #again(why: string, isLost: boolean): Promise<"again"> {
    const { random } = this.#deps;
    const backOffMs = isLost ? backoffMs(POLICY.submit.lost, this.#request.tries, null, random) : 0;
    const delayMs = Math.max(backOffMs, this.#gate.waitMs);
    this.#deps.onProgress({ type: "submit_retry", why, isLost, delayMs });
    if (isLost) await pause(backOffMs, this.#deps);
    return "again";
  }

  async #refusedAll(submission: Sent, error: ImggenError): Promise<ImggenError | null> {
    if (this.#isKept) {
      await this.#waits(submission, error.message);
      return error;
    }
    await this.#record({ ...submission, reply: { outcome: "refused", error } });
    await this.#giveBack();
    await this.#endWaiting(error.message);
    return error;
  }

  /** Leaves what was not sent waiting, or ends it: nothing of the task was made, and it is this run's alone. */
  async #notSent(error: ImggenError): Promise<ImggenError | null> {
    if (this.#held.isLost) return this.#held.takenOver();
    if (!this.#isKept) await this.#endWaiting(error.message);
    return error;
  }

  /** Whether the task outlives this run: it is older, a server has it, or others of its requests were sent. */
  get #isKept(): boolean {
    const { requests } = this.#held.task;
    if (this.#spec.isContinued || this.#deps.keeping !== undefined) return true;
    return requests.some((each, at) => {
      // The attempt that has just made nothing does not count.
      if (at === this.#index) return each.tries > (each.state === "started" ? 1 : 0);
      return each.tries > 0 || isAnswered(each);
    });
  }

  /** Ends every request that waits. A decision: only the task's holder makes it. */
  async #endWaiting(why: string): Promise<void> {
    for (const [request, { state }] of this.#held.task.requests.entries())
      if (state === "waiting") await this.#held.record({ type: "not_sent", at: this.#now, why, request });
  }

  /** The user has cancelled the task: what waits is not sent, and what is free is given up. */
  async #cancelled(submission: Sent | null): Promise<ImggenError | null> {
    if (this.#held.isLost) return this.#held.takenOver();
    if (
      submission !== null &&
      submission.reply.outcome !== "unknown" &&
      submission.reply.outcome !== "not_sent"
    ) {
      await this.#record(submission);
    } else if (submission?.reply.outcome === "not_sent") {
      await this.#waits(submission, CANCELLED);
    } else if (submission !== null) {
      const facts = { at: this.#now, request: this.#index, attempt: submission.attempt };
      await this.#held.record({
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

function isAnswered({ state }: RequestState): boolean {
  return state !== "waiting" && state !== "not_sent";
}

/** Whether a refusal says nothing of this one request, so that the others would be refused too. */
function isOfAll(error: ImggenError): boolean {
  return isOfAccount(error) || error.type === "service_error";
}

/** For how long the turn of a request is kept that was given up, and that the other side may still be at work on. */
function keptMs(gaveUp: GivenUp | null, limitMs: number): number {
  if (gaveUp === null) return 0;
  return gaveUp === "time limit" ? limitMs : Math.min(limitMs, POLICY.submit.maxKeptTurnMs);
}

/** Limits of an attempt: a signal, its timeout, or the user's cancel. A paid request that was sent is waited for. */
class AttemptLimits {
  isSent = false;
  gaveUp: GivenUp | null = null;
  readonly #held: HeldTask;
  readonly #spec: SendSpec;
  readonly #deps: TaskDeps;
  readonly #cutOff = new AbortController();
  readonly #over = new AbortController();
  readonly #unwatch: () => void;

  constructor(heldTask: HeldTask, index: number, spec: SendSpec, deps: TaskDeps) {
    this.#held = heldTask;
    this.#spec = spec;
    this.#deps = deps;
    const { signal, keeping } = deps;
    const once = { once: true, signal: this.#over.signal };
    if (signal.aborted) this.#onAbort();
    signal.addEventListener("abort", () => this.#onAbort(), once);
    if (keeping?.pause.aborted) this.#onPause(keeping.pause);
    keeping?.pause.addEventListener("abort", () => this.#onPause(keeping.pause), once);
    this.#unwatch = heldTask.onCancel(() => {
      const isWaiting = heldTask.task.requests[index]?.state === "waiting";
      if (isWaiting || !heldTask.task.intent.isPaid) this.#giveUp("cancelled", new CancelledError());
    });
  }

  get signal(): AbortSignal {
    return this.#cutOff.signal;
  }

  /** Begins the time limits of the request. */
  begin(): void {
    const { isPaid, requestMs } = this.#held.task.intent;
    const { timeoutMs } = this.#spec;
    if (!answersWithId(this.#deps.connection.provider))
      this.#after(requestMs, "time limit", timeLimit(requestMs));
    if (!isPaid && timeoutMs !== null) this.#after(timeoutMs, "timeout", new Error("not waited for"));
  }

  /** Ends it, once the attempt has ended. */
  end(): void {
    this.#unwatch();
    this.#over.abort();
  }

  /** A request that was sent is waited for: its id, or what was paid for, may be in flight. */
  #onAbort(): void {
    const { reason } = this.#deps.signal;
    const { graceMs } = this;
    if (!this.isSent || graceMs === 0) {
      this.#giveUp("signal", reason);
      return;
    }
    const { taskId } = this.#held.task.intent;
    this.#deps.onProgress({
      type: "submit_interrupted",
      taskId,
      waitMs: Number.isFinite(graceMs) ? graceMs : null,
    });
    if (Number.isFinite(graceMs)) this.#after(graceMs, "signal", reason);
  }

  /** A request that was sent is finished. */
  #onPause({ reason }: AbortSignal): void {
    if (!this.isSent) this.#giveUp("signal", reason);
  }

  get graceMs(): number {
    const { keeping } = this.#deps;
    if (keeping) return keeping.graceMs;
    if (answersWithId(this.#deps.connection.provider)) return POLICY.submit.graceMs;
    return this.#held.task.intent.isPaid ? Number.POSITIVE_INFINITY : 0;
  }

  #after(ms: number, why: GivenUp, reason: unknown): void {
    void this.#deps.clock.sleep(ms, this.#over.signal).then(
      () => this.#giveUp(why, reason),
      () => {},
    );
  }

  #giveUp(why: GivenUp, reason: unknown): void {
    this.gaveUp ??= why;
    this.#cutOff.abort(reason);
  }
}

/** The reason with which a request is given up that takes longer than it may. */
export function timeLimit(ms: number): TimeLimitError {
  return new TimeLimitError(`no answer within ${formatDuration(ms)}`);
}

/** The request stays as it is: its provider knows what became of it, and cannot be asked now. */
export function askedLater(heldTask: HeldTask, { why }: UnknownReply, deps: TaskDeps): ImggenError {
  if (deps.signal.aborted) return interruptedError(deps.signal, heldTask.charged);
  const name = providerName(deps.connection);
  const message = `What became of task ${displayId(heldTask.task)} at ${name} is not known yet: ${why}.`;
  return new PendingError(message, { charged: heldTask.charged });
}

function timeIsUp(heldTask: HeldTask): PendingError {
  const message = `Task ${displayId(heldTask.task)} is not finished yet: its time is up.`;
  return new PendingError(message, { charged: heldTask.charged });
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

/** The error of a request that the gate has not let through. */
export function notTried({ stopped, outage }: Gate): ImggenError {
  return stopped ?? outage?.refusal ?? new NetworkError(outage?.why ?? "The request was not attempted.");
}

function unreachable(cause: unknown, { connection }: TaskDeps): NetworkError {
  const { message, hint } = describeConnectionError(cause, connection.serviceUrl);
  return new NetworkError(message, { hint, cause });
}
