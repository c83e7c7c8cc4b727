import { ImggenError, UsageError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { action, option, phrase } from "../../lib/wording.ts";
import type { UnpricedModel } from "../../store/agreed-prices.ts";
import { getFreeProvider, isSameDestination, recoveryDestination } from "../../task/intent.ts";
import { ANY_MODEL, type GenerationRequest, withRepeatedSeed } from "../../task/request.ts";
import { isUnknown, type Task, unsentCredits } from "../../task/task.ts";
import {
  decideReuse,
  type EarlierTask,
  findReusable,
  findUnfinished,
  type RepeatDecision,
  toEarlierTask,
} from "../engine/again.ts";
import { beginAndDrive, createIntent, type ResultSpec, submitNew, type TaskSpec } from "../engine/begin.ts";
import { claimTask } from "../engine/claimed-task.ts";
import { type GeneratorFacts, singleAccountDeps, type TaskDeps } from "../engine/deps.ts";
import { dismissTask } from "../engine/dismiss.ts";
import { unsupportedError } from "../engine/jobs.ts";
import { type TaskReport, taskReport } from "../engine/report.ts";
import { identicalUnfinishedWarning, maybeSubmittingError, sentBeforeError } from "../engine/task-error.ts";
import { AnsweredError, BudgetExceededError, ClaimedError, claimedError } from "../errors.ts";
import { requireFree } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { type CostRules, checkBudget, checkDailyLimit, spendingAccount } from "../limits/budget.ts";
import { pause, waitTimeoutMs } from "../polling/wait.ts";
import type { RequestReferences } from "../references/reference-images.ts";

export interface GenerateSpec extends TaskSpec, CostRules {
  /** Reference images to check or upload before the submit; absent if all are sent unchanged. */
  references?: Pick<RequestReferences, "asRecorded" | "ready"> | null;
  /** Task that `rerun` submits again; null for a new request. */
  repeated: Task | null;
  /** Whether to submit the request even if an earlier task for the same request is unfinished. */
  again: boolean;
  /** Whether to reuse an earlier identical request that was charged, or that another process has just begun. */
  reuse: boolean;
  maxCredits: number | undefined;
}

export interface GenerateEvents {
  onWarning?: (message: string) => Promise<void>;
  /**
   * Asks whether to submit a paid request without a documented price. If absent, such a request is submitted.
   * @param name the model's or generator's name for the question
   */
  agreeOnPrice?: ((unpriced: UnpricedModel, name: string) => Promise<boolean>) | undefined;
}

/**
 * Continues or reuses an earlier task for the same request. If there is none, checks the limits, uploads reference
 * images, and submits the request. If an error is thrown, nothing was sent.
 * @throws UsageError, BudgetExceededError, or an error of `ReferenceImages.ready` or `submitNew`
 */
export async function generate(
  spec: GenerateSpec,
  deps: TaskDeps,
  { onWarning = async () => {}, agreeOnPrice }: GenerateEvents = {},
): Promise<TaskReport> {
  const { checked, destination, wait, maxCredits, references = null } = spec;
  const { reuse, again, repeated } = spec;
  const { provider, generator } = deps.connection;
  if (wait === null && generator && !provider.poll) throw noIdsError(generator);
  const unsupported = unsupportedError(withRepeatedSeed(checked), deps.connection);
  if (unsupported !== null) throw unsupported;
  if (reuse && again) throw new UsageError("The options reuse and again cannot be used together.");
  const warnings = [...checked.warnings];
  const notifyWarning = async (warning: string) => {
    warnings.push(warning);
    await onWarning(warning);
  };
  const recordedRequest =
    references === null ? checked.request : await references.asRecorded(checked.request);
  if (recordedRequest !== null && !again) {
    const earlier = await (reuse
      ? reuseEarlier(recordedRequest, spec, deps)
      : continueEarlier(recordedRequest, spec, deps, notifyWarning));
    if (earlier !== null) return earlier;
  }
  if (maxCredits !== undefined) checkBudget(checked, maxCredits, spec);
  await requireFree(destination);
  const { credits } = checked;
  // --reuse counts as 0 credits, because the cost of a new request is checked again before the submit.
  const cost = { credits: reuse ? 0 : (credits ?? 0), undocumented: credits === null ? 1 : 0 };
  const account = spendingAccount(deps.connection.identity, generator !== undefined);
  await checkDailyLimit(cost, account, deps, spec);
  if (agreeOnPrice !== undefined) await requireAgreement(spec, deps, agreeOnPrice);
  const request =
    references === null ? checked.request : await uploadReferences(spec, references, deps, notifyWarning);
  const finalSpec = { ...spec, checked: { ...checked, request, warnings } };
  if (reuse) return generateOrReuse(finalSpec, deps);
  const report = await submitNew(finalSpec, deps);
  const isRepeatOpen = repeated !== null && isUnknown(await deps.ledger.withLostReplies(repeated));
  return isRepeatOpen ? dismissRepeated(repeated, report, deps) : report;
}

/** Asks the user to confirm a paid request whose price is not documented. @throws BudgetExceededError */
async function requireAgreement(
  { checked }: GenerateSpec,
  { connection }: TaskDeps,
  agreeOnPrice: NonNullable<GenerateEvents["agreeOnPrice"]>,
): Promise<void> {
  const { request, credits, isPaid = connection.termsFor(request).isPaid } = checked;
  const service = connection.identity;
  if (credits !== null || getFreeProvider({ service, isPaid }) !== null) return;
  const { model } = request;
  const address = service.baseUrl;
  const name = model === ANY_MODEL ? (connection.generator?.name ?? address) : model;
  if (await agreeOnPrice({ address, model }, name)) return;
  throw new BudgetExceededError("The cost was not confirmed.", { hint: "Nothing was sent." });
}

/**
 * Continues the newest unfinished task for the same request, because a user who repeats an interrupted command wants
 * its image, not a second charge. Ignores tasks of living processes.
 * @returns null if the request must be submitted; the report has an error if the task's outcome is unknown
 * @throws UsageError or SaveFailedError if the images cannot be saved in the new destination; UnreadableRecordError
 */
async function continueEarlier(
  request: GenerationRequest,
  spec: GenerateSpec,
  deps: TaskDeps,
  warn: (message: string) => Promise<void>,
): Promise<TaskReport | null> {
  const triedIds = new Set<string>();
  for (;;) {
    const decision = await findUnfinished(request, deps, ({ id }) => triedIds.has(id));
    switch (decision.kind) {
      case "continue": {
        const { task } = decision.earlier;
        triedIds.add(task.id);
        // The destination of the task is not checked, because the task's saved images do not block the path.
        if (!isSameDestination(spec.destination, task.intent.destination)) await requireUsable(spec);
        const report = await continueOrReport(task, spec, deps);
        if (report !== null) return { ...report, reused: true };
        continue;
      }
      case "uncertain":
        return {
          ...taskReport(decision.earlier.task),
          error: sentBeforeError(decision.earlier.task),
          reused: true,
        };
      case "claimed":
        return {
          ...taskReport(decision.earlier.task),
          error: maybeSubmittingError(decision.earlier.task),
          reused: true,
        };
      case "saved":
        return null;
      case "none":
        if (decision.warn !== null) await warn(identicalUnfinishedWarning(decision.warn));
        return null;
    }
  }
}

async function requireUsable({ destination }: ResultSpec): Promise<void> {
  await requireFree(destination);
  await prepareDestination(destination);
}

/** @returns null if another process has claimed or just finished the task, so that a new request can be submitted */
async function continueOrReport(task: Task, spec: GenerateSpec, deps: TaskDeps): Promise<TaskReport | null> {
  const report = taskReport(task);
  try {
    checkUnsent(task, spec);
    // Loaded only now, because a new submit does not need the module.
    const { continueClaimed } = await import("../engine/continue.ts");
    const claimedTask = await claimTask(task, deps.ledger, (message) =>
      deps.onProgress({ type: "ledger_warning", message }),
    );
    if (typeof claimedTask === "string") return null;
    const { taskId, charged } = report;
    if (taskId !== null) deps.onProgress({ type: "continuing", taskId, charged });
    if (spec.wait === null) {
      await claimedTask.release();
      return { ...report, isAwaited: false };
    }
    const { wait, destination } = spec;
    return await continueClaimed(claimedTask, { wait, destination, sends: true }, singleAccountDeps(deps));
  } catch (error) {
    // The error is part of the report, because the task might have been charged.
    if (!(error instanceof ImggenError)) throw error;
    return { ...report, error };
  }
}

/** @throws BudgetExceededError if the unsent requests would cost more than the user allows */
function checkUnsent(task: Task, spec: GenerateSpec): void {
  const { maxCredits } = spec;
  const { request, isPaid } = task.intent;
  const credits = unsentCredits(task);
  if (maxCredits === undefined || credits === 0 || !isPaid) return;
  checkBudget({ request, credits, warnings: [] }, maxCredits, spec);
}

/** Interval between reads of a task that another process works on, in milliseconds. */
const READ_INTERVAL_MS = 100;

/**
 * Reuses an earlier task: finishes the task or waits for its process, then copies or downloads the images. If the
 * outcome of the only earlier task is unknown, the report has the error.
 * @returns null if no earlier task can be reused
 * @throws UsageError if the destination path is taken
 */
export async function reuseEarlier(
  request: GenerationRequest,
  spec: ResultSpec,
  deps: TaskDeps,
): Promise<TaskReport | null> {
  const { clock, ledger } = deps;
  const { wait } = spec;
  const maxWaitMs = wait ? waitTimeoutMs(wait, request) : NO_WAIT_MAX_MS;
  const endMs = clock.monotonicMs() + maxWaitMs;
  let isFirst = true;
  let decision = await findReusable(request, deps);
  while (decision.kind !== "none") {
    const { task } = decision.earlier;
    const remainingMs = Math.max(0, endMs - clock.monotonicMs());
    const report = await reuseOnce(
      decision,
      { ...spec, wait: wait && { ...wait, timeoutMs: remainingMs } },
      deps,
    );
    if (!(report.error instanceof ClaimedError) || remainingMs === 0) return { ...report, reused: true };
    if (isFirst) deps.onProgress({ type: "claimed_elsewhere", id: report.taskId ?? task.id });
    isFirst = false;
    if (!(await pause(Math.min(READ_INTERVAL_MS, remainingMs), deps)))
      return { ...report, error: interruptedError(deps.signal, report.charged), reused: true };
    const entry = await ledger.read(task.id);
    const current =
      entry?.kind === "task" ? toEarlierTask(await ledger.withLostReplies(entry.task), ledger) : null;
    // If the task failed during the wait, its failure is reported instead of a new submit.
    if (current?.state === "failed" || current?.task.state === "cancelled")
      return { ...taskReport(current.task), reused: true };
    const nextDecision: RepeatDecision =
      current === null ? { kind: "none", warn: null } : decideReuse(current);
    decision = nextDecision.kind === "none" ? await findReusable(request, deps) : nextDecision;
  }
  return null;
}

/** Maximum wait for an earlier task under --no-wait, in milliseconds. */
const NO_WAIT_MAX_MS = 180_000;

/** Submits the request, or reuses the task if another process has begun the same request meanwhile. */
async function generateOrReuse(spec: TaskSpec, deps: TaskDeps): Promise<TaskReport> {
  await prepareDestination(spec.destination);
  for (;;) {
    deps.signal.throwIfAborted();
    const earlier = await reuseEarlier(spec.checked.request, spec, deps);
    if (earlier !== null) return earlier;
    const report = await beginAndDrive(createIntent(spec, deps), spec, { once: true }, deps);
    const isAlreadySubmitted = report === "taken" || report.error instanceof AnsweredError;
    if (!isAlreadySubmitted) return report;
  }
}

async function reuseOnce(
  { kind, earlier }: Exclude<RepeatDecision, { kind: "none" }>,
  spec: ResultSpec,
  deps: TaskDeps,
): Promise<TaskReport> {
  const report = taskReport(earlier.task);
  switch (kind) {
    case "claimed":
      if (spec.wait === null && isAllSubmitted(earlier.task)) return unawaitedReport(report);
      return { ...report, error: await claimedError(earlier.task, deps.ledger) };
    case "uncertain":
      return report;
    case "saved":
    case "continue":
      return obtainImages(earlier, spec, report, deps);
  }
}

function isAllSubmitted({ requests }: Task): boolean {
  return requests.every(({ state }) => state === "accepted" || state === "completed");
}

function unawaitedReport(report: TaskReport): TaskReport {
  return { ...report, isAwaited: report.files.length > 0 };
}

/** Saves the images of an earlier task at the destination, after finishing the task if necessary. */
async function obtainImages(
  { task, state: earlierState }: EarlierTask,
  { wait, destination }: ResultSpec,
  report: TaskReport,
  deps: TaskDeps,
): Promise<TaskReport> {
  const { continueNamed, copyResult } = await import("../engine/continue.ts");
  const { isCopyOf } = await import("../images/copy-image.ts");
  const useCaseDeps = singleAccountDeps(deps);
  if (destination.kind === "file") {
    const [first] = report.files;
    // A file at the destination that is a copy of the image does not block the path.
    if (!first || !(await isCopyOf(destination.path, first))) await requireFree(destination);
    if (earlierState === "saved") return copyResult(task, destination, wait, useCaseDeps);
  }
  if (wait === null) return unawaitedReport(report);
  // An image that was written to standard output has no file, so it must be saved again.
  const isGone = report.files.some(({ path }) => path === null);
  const taskDestination = isGone ? recoveryDestination(task.intent.destination) : null;
  const target = destination.kind === "folder" ? taskDestination : destination;
  return continueNamed(task, { wait, destination: target, sends: true }, useCaseDeps);
}

/** Without an id, the task could not be found again after a command with --no-wait has exited. */
function noIdsError({ name }: GeneratorFacts): UsageError {
  return new UsageError(
    phrase`${option("noWait")} needs imggen serve: without a server, the task ends with this command.`,
    {
      hint: phrase`Nothing was sent. Start this server, and use it as the service: ${action("run", `serve --generator ${shellWord(name)}`)}`,
    },
  );
}

async function uploadReferences(
  { checked, destination }: GenerateSpec,
  references: Pick<RequestReferences, "ready">,
  deps: TaskDeps,
  notifyWarning: (warning: string) => Promise<void>,
): Promise<GenerationRequest> {
  await prepareDestination(destination);
  const { request, warnings } = await references.ready(checked.request, deps);
  for (const warning of warnings) await notifyWarning(warning);
  return request;
}

/** Dismisses an earlier task of unknown outcome after the user submitted its request again. */
async function dismissRepeated(repeated: Task, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  const isSent = report.state !== "not_sent" && report.state !== "refused";
  if (!isSent || (report.charged === "no" && report.free !== "sandbox")) return report;
  try {
    await dismissTask(repeated, { why: "submitted again", replacement: report.ledgerId }, deps.ledger);
    return report;
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return { ...report, warnings: [...report.warnings, error.message] };
  }
}
