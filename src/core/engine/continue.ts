import path from "node:path";
import { ServiceError } from "../../api/api-errors.ts";
import { isoTime } from "../../lib/clock.ts";
import { type ErrorType, ImggenError, UsageError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Job } from "../../providers/provider.ts";
import { keepResult } from "../../providers/stored-reply.ts";
import { type Destination, recoveryDestination, SANDBOX_SERVICE } from "../../task/intent.ts";
import { type Line, seedAt } from "../../task/line.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import {
  displayId,
  endsUnsent,
  getAnswer,
  getSavedFiles,
  isResumable,
  openTaskState,
  STATES,
  type Task,
} from "../../task/task.ts";
import { claimedBy, PendingError, SaveFailedError } from "../errors.ts";
import { isWhole } from "../images/copy-image.ts";
import {
  type EndedState,
  type WaitResult,
  type WaitSettings,
  waitForTask,
  waitTimeoutMs,
  whyGone,
} from "../polling/wait.ts";
import type { TaskDeps, UseCaseDeps } from "./deps.ts";
import { closeUnsent, drive } from "./drive.ts";
import {
  type AcceptedJob,
  isAtUrls,
  isLostJob,
  knownJobs,
  openJobs,
  stillRunning,
  unseen,
  waitForJob,
} from "./follow-job.ts";
import { type HeldTask, holdTask } from "./held.ts";
import { createJob, jobOfId } from "./jobs.ts";
import { reportOfId, type TaskReport, taskFacts, taskReport } from "./report.ts";
import { ENDED_BEFORE, noLongerKnown, taskFailed, toSubmitAgain } from "./task-error.ts";

/** Options for continuing a task of an earlier run. */
export interface ContinueSpec {
  wait: WaitSettings;
  /** Destination that overrides the task's own. */
  destination: Destination | null;
  /** As of `Goal`. */
  keepsNewer?: boolean;
  /** Whether what waits is submitted, and what an ended process has submitted is recovered. */
  sends: boolean;
}

/**
 * Finishes one task that was named. A failed or cancelled one is polled again: the provider may have completed it since. A saved one may be
 * wanted again: somewhere else, or because its files are gone or no longer what was saved. Never throws an expected error.
 */
export async function continueNamed(task: Task, spec: ContinueSpec, deps: UseCaseDeps): Promise<TaskReport> {
  const mayBeAsked = task.state === "unknown" || task.state === "cancelled";
  if (task.state === "failed" || (mayBeAsked && endedJobs(task).length > 0))
    return reported(taskReport(task), () => askAgain(task, spec, deps));
  if (task.state !== "saved") return continueTask(task, spec, deps);
  return reported(taskReport(task), async () => {
    if (spec.destination === null && (await areWhole(getSavedFiles(task))))
      return { ...(await continueTask(task, spec, deps)), isSavedBefore: true };
    return saveAgain(task, spec, deps);
  });
}

/**
 * Finishes one task of the ledger, from wherever its former process left it. While its jobs run it is not held: polling needs
 * no right to it.
 */
export function continueTask(
  task: Task,
  requestedSpec: ContinueSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  return reported(taskReport(task), async () => {
    if (deps.ledger.isHeld(task)) return heldElsewhere(task, deps);
    if (isUpToUser(task, requestedSpec)) return askForLost(task, requestedSpec, deps);
    const jobs = openJobs(task);
    const isUnsent = !requestedSpec.sends && task.requests.some(({ state }) => state === "waiting");
    // A command that does not submit does not wait for unsent requests.
    const spec = isUnsent
      ? { ...requestedSpec, wait: { ...requestedSpec.wait, timeoutMs: 0 } }
      : requestedSpec;
    const isFollowed = jobs.length > 0 && !hasMore(task, spec);
    const seen = new Map<number, WaitResult>();
    if (isFollowed) {
      const report = await waitForFirst(task, jobs, spec, seen, deps);
      if (report !== null) return report;
    }
    const heldTask = await holdTask(task, deps.ledger, () => {});
    if (heldTask === "held") return heldElsewhere(task, deps);
    // Another process has finished it since it was read.
    if (heldTask === "ended") return taskReport((await deps.ledger.find(task.id)) ?? task);
    return continueHeld(heldTask, spec, deps, seen);
  });
}

/** Whether nothing is left to do for a task but to decide about a lost reply. */
function isUpToUser(task: Task, { destination }: ContinueSpec): boolean {
  return openTaskState(task) === "unknown" && (task.state === "unknown" || destination === null);
}

/**
 * Asks once more for the requests of a task whose replies were lost, if its provider knows them by an id of ours. The task is
 * taken only if one is found: it would grow by a part with every resume.
 */
async function askForLost(task: Task, spec: ContinueSpec, deps: UseCaseDeps): Promise<TaskReport> {
  const acceptedLines = spec.sends ? await acceptedAfterAll(task, deps) : [];
  if (acceptedLines.length === 0) return taskReport(task);
  const heldTask = await holdTask(task, deps.ledger, () => {});
  if (heldTask === "held") return heldElsewhere(task, deps);
  if (heldTask === "ended") return taskReport((await deps.ledger.find(task.id)) ?? task);
  for (const line of acceptedLines) await heldTask.record(line);
  return continueHeld(heldTask, spec, deps);
}

async function acceptedAfterAll(task: Task, deps: UseCaseDeps): Promise<Line<"accepted">[]> {
  const unknownRequests = task.requests.flatMap(({ state, attempt }, request) =>
    state === "unknown" && attempt !== null ? [{ request, attempt: attempt.name }] : [],
  );
  try {
    const { connection } = await deps.depsFor(task.intent, displayId(task));
    const once = { signal: AbortSignal.abort(new Error("asked once")), onProgress: () => {} };
    const lookups = unknownRequests.map(async ({ request, attempt }): Promise<Line<"accepted">[]> => {
      const job = createJob(task, request, attempt, deps.ledger.work);
      const reply = await connection.provider.recover?.(job, once);
      const at = isoTime(deps.clock.now());
      return reply?.outcome === "accepted"
        ? [{ type: "accepted", at, request, attempt, taskId: reply.taskId }]
        : [];
    });
    return (await Promise.all(lookups)).flat();
  } catch (error) {
    // Its outcome stays unknown, whatever keeps its provider from being asked.
    if (error instanceof ImggenError) return [];
    throw error;
  }
}

/** Whether something else than its jobs is to be done for a task at once. */
function hasMore({ requests }: Task, { sends }: ContinueSpec): boolean {
  return requests.some((request) => {
    if (request.state === "completed") return !isAtUrls(request);
    return sends && (request.state === "waiting" || request.state === "started");
  });
}

/** Waits until one of a task's jobs has ended. @returns the report if none has */
async function waitForFirst(
  task: Task,
  jobs: readonly AcceptedJob[],
  { wait, sends }: ContinueSpec,
  seen: Map<number, WaitResult>,
  deps: UseCaseDeps,
): Promise<TaskReport | null> {
  const taskDeps = await deps.depsFor(task.intent, displayId(task));
  if (jobs.some(({ acceptedMs }) => Math.abs(deps.clock.now() - acceptedMs) < WRITTEN_BY_THEN_MS))
    await deps.ledger.sync(task);
  const over = new AbortController();
  const signal = AbortSignal.any([taskDeps.signal, over.signal]);
  const isOver = (waited: WaitResult) => waited.outcome === "ended" || (sends && isLostJob(task, waited));
  const waits = jobs.map(async (job) => {
    const how = { ...wait, pollAtOnce: true, keepsReply: true };
    const waited = await waitForJob(task, job, how, { ...taskDeps, signal });
    if (over.signal.aborted && !isOver(waited)) return;
    seen.set(job.request, waited);
    if (isOver(waited)) over.abort();
  });
  await Promise.all(waits);
  const isGoneNow = (waited: WaitResult | undefined) => waited !== undefined && whyGone(waited) !== null;
  const results = [...seen.values()];
  if (results.some(isOver)) {
    for (const [request, waited] of seen) if (!isOver(waited)) seen.delete(request);
    return null;
  }
  // Recorded once: a line for each resume would let the file grow.
  if (jobs.some(({ request, isGone }) => !isGone && isGoneNow(seen.get(request)))) return null;
  const [first] = results;
  const report = taskReport(task);
  switch (first?.outcome) {
    case "refused":
      return { ...report, error: first.error };
    case "timeout":
      return { ...report, error: stillRunning(task, first.lastFailure?.why ?? null) };
    case "gone":
      return { ...report, error: noLongerKnown(task, first.lastFailure.why) };
    default:
      return { ...report, error: interruptedError(taskDeps.signal, report.charged) };
  }
}

/** Every system has written a file to its disk by then, synced or not. */
const WRITTEN_BY_THEN_MS = 10 * 60_000;

/** Takes a task that this process holds as far as it goes. @throws what keeps its provider from being asked */
export async function continueHeld(
  heldTask: HeldTask,
  spec: ContinueSpec,
  deps: UseCaseDeps,
  seen?: ReadonlyMap<number, WaitResult>,
): Promise<TaskReport> {
  const { task } = heldTask;
  if (!isResumable(task.state)) {
    // Its process ended just before it moved the file to `done`, or only the user can decide.
    await heldTask.leave();
    return taskReport(heldTask.task);
  }
  if (spec.sends && endsUnsent(task)) {
    await closeUnsent(heldTask, whyUnsent(task), deps);
    return taskReport(heldTask.task);
  }
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(task.intent, displayId(task));
  } catch (error) {
    await heldTask.leave();
    throw error;
  }
  return drive(heldTask, { ...spec, isContinued: true, ...(seen && { seen }) }, [], taskDeps);
}

function whyUnsent({ requests }: Task): string {
  const [why] = requests.flatMap((request) => getAnswer(request, "waiting")?.why ?? []);
  return why === undefined ? ENDED_BEFORE : ENDED_WHILE_BUSY;
}

/** Reason for a request whose process ended while it waited out a 429. */
const ENDED_WHILE_BUSY = "the service was busy (HTTP 429), and imggen ended before it could submit it again";

/** The report on a task that another process has. One that has ended it may still be running. */
async function heldElsewhere(task: Task, { ledger }: UseCaseDeps): Promise<TaskReport> {
  const report = taskReport(task);
  return STATES[task.state].isOpen ? { ...report, error: await claimedBy(task, ledger) } : report;
}

/** Calls `run`, and puts an expected error into the report, worded as `settledUnknownId` does. */
export async function reported(report: TaskReport, run: () => Promise<TaskReport>): Promise<TaskReport> {
  try {
    return settledUnknownId(await run());
  } catch (error) {
    if (error instanceof ImggenError) return settledUnknownId({ ...report, error });
    throw error;
  }
}

/** As `reported`, of an id that the ledger does not have. The sandbox is free whatever it says. */
export async function reportedId(
  id: string,
  run: () => Promise<TaskReport>,
  { current }: Pick<UseCaseDeps, "current">,
): Promise<TaskReport> {
  const report = await reported(reportOfId(id), run);
  const baseUrl = await current().then(
    ({ connection }) => connection.identity.baseUrl,
    () => null,
  );
  if (baseUrl !== SANDBOX_SERVICE) return report;
  return { ...report, free: "sandbox", charged: "no", credits: 0 };
}

/**
 * Polls a task again that has failed, or whose reply cannot be used. It is opened again if its provider says other than that it
 * has failed.
 */
async function askAgain(task: Task, spec: ContinueSpec, deps: UseCaseDeps): Promise<TaskReport> {
  const { ledger } = deps;
  // Its process is about to move the file, or ended just before that.
  if (ledger.isHeld(task)) return { ...taskReport(task), error: await claimedBy(task, ledger) };
  if (ledger.isOpen(task.id)) {
    const continued = await continueTask(task, spec, deps);
    if (continued.error?.type !== "generation_failed" && continued.state !== "unknown") return continued;
  }
  const failed = endedJobs(task);
  if (failed.length === 0) return taskReport(task);
  const taskDeps = await deps.depsFor(task.intent, displayId(task));
  if (!taskDeps.connection.provider.poll) return taskReport(task);
  const seen = new Map<number, WaitResult>();
  const report = taskReport(task);
  for (const job of failed) {
    const how = { ...spec.wait, pollAtOnce: true, keepsReply: true };
    const waited = await waitForJob(task, job, how, taskDeps);
    if (waited.outcome === "refused") return { ...report, error: waited.error };
    if (waited.outcome === "interrupted")
      return { ...report, error: interruptedError(taskDeps.signal, report.charged) };
    if (waited.outcome === "gone") continue;
    const isRunning = waited.outcome === "timeout" && waited.wasSeen;
    if (waited.outcome === "timeout" && !isRunning && waited.lastFailure !== null)
      return { ...report, error: unseen(waited.lastFailure, report.charged, taskDeps.connection.serviceUrl) };
    const isFailed = waited.outcome === "ended" && waited.task.status === "failed";
    if (!isFailed) seen.set(job.request, waited);
  }
  if (seen.size === 0) return report;
  await ledger.reopen(task.id);
  const heldTask = await holdTask(task, ledger, () => {});
  if (heldTask === "held") return { ...report, error: await claimedBy(task, ledger) };
  if (heldTask === "ended") return taskReport((await ledger.find(task.id)) ?? task);
  const at = isoTime(deps.clock.now());
  for (const job of failed)
    if (seen.has(job.request))
      await heldTask.record({
        type: "accepted",
        at,
        request: job.request,
        attempt: job.attempt,
        taskId: job.id,
      });
  return continueHeld(heldTask, spec, deps, seen);
}

/**
 * Saves a finished task once more: from its files if they are whole, else from its provider, for as long as that has it. Its
 * ledger file is not written to.
 */
export async function saveAgain(
  task: Task,
  { destination, wait, keepsNewer = false }: Pick<ContinueSpec, "wait" | "destination" | "keepsNewer">,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const report = taskFacts(task);
  const files = getSavedFiles(task);
  const areHere = await areWhole(files);
  if (files.length > 0 && !areHere && isOnlyHere(files))
    return { ...report, error: noLongerThere(report, null) };
  const taskDeps = await deps.depsFor(task.intent, displayId(task));
  const isRecorded = areHere || knownJobs(task).length === 0;
  const urls = isRecorded ? files.map(({ url }) => url ?? "") : await urlsAgain(task, wait, taskDeps);
  if (urls instanceof ImggenError) return { ...report, error: urls };
  const { saveSources, sidecarFacts } = await import("./save.ts");
  const { result, failure } = await saveSources(
    {
      taskId: displayId(task),
      heldTaskId: null,
      request: task.intent.request,
      facts: sidecarFacts(report, taskDeps),
      sinceMs: Date.parse(task.submittedAt),
      sources: urls.map((url, at) => ({
        kind: "url",
        url,
        freshUrl: async () => null,
        seed: files[at]?.seed ?? null,
      })),
      savedFiles: [],
      copies: files,
      destination: destination ?? recoveryDestination(task.intent.destination),
      replacesNewer: destination !== null && !keepsNewer,
      recovering: true,
      maxImages: Math.max(16, files.length),
      savesFurther: true,
    },
    taskDeps,
  );
  const savedFiles = result.files.filter((file) => file !== null);
  const warnings = [...report.warnings, ...result.warnings];
  if (failure === null) return { ...report, state: "saved", files: savedFiles, warnings };
  const isGone = !areHere && GONE.has(failure.type);
  const error = isGone ? noLongerThere(report, failure) : failure;
  return { ...report, files: savedFiles, warnings, error };
}

/** The URLs of a task's images as its provider says them now. */
async function urlsAgain(task: Task, wait: WaitSettings, deps: TaskDeps): Promise<string[] | ImggenError> {
  const urls: string[] = [];
  for (const job of knownJobs(task)) {
    const waited = await waitForJob(task, job, { ...wait, pollAtOnce: true }, deps);
    const report = taskFacts(task);
    if (waited.outcome === "refused") return waited.error;
    if (waited.outcome === "interrupted") return interruptedError(deps.signal, report.charged);
    if (waited.outcome === "gone") return noLongerKnown(task, waited.lastFailure.why);
    if (waited.outcome === "timeout")
      return waited.lastFailure === null
        ? stillRunning(task, null)
        : unseen(waited.lastFailure, report.charged, deps.connection.serviceUrl);
    if (waited.task.status === "failed") return taskFailed(displayId(task), waited.task);
    urls.push(...waited.task.urls);
  }
  return urls;
}

async function areWhole(files: readonly SavedFile[]): Promise<boolean> {
  const each = await Promise.all(files.map(async (file) => file.path !== null && isWhole(file)));
  return files.length > 0 && each.every(Boolean);
}

/** Whether a saved task's images are in these files alone: its provider gave no URL. */
function isOnlyHere(files: readonly SavedFile[]): boolean {
  return files.every(({ url }) => url === null);
}

/** Puts the images of a saved task under a further name. */
export async function copyResult(
  task: Task,
  destination: Extract<Destination, { kind: "file" }>,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const report = taskReport(task);
  const files = getSavedFiles(task);
  if ((await areWhole(files)) && files[0]?.path === destination.path)
    return { ...report, isSavedBefore: true };
  return saveAgain(task, { destination, wait: wait ?? { timeoutMs: 0, schedule: null } }, deps);
}

/** Errors by which a provider says that it no longer has a task's images. */
const GONE: ReadonlySet<ErrorType> = new Set(["save_failed", "service_error", "generation_failed"]);

/** The jobs of requests that have failed, or whose reply cannot be used: one poll more without a word of one is enough. */
function endedJobs(task: Task): AcceptedJob[] {
  return knownJobs(task).flatMap((job) => {
    const state = task.requests[job.request]?.state;
    const hasEnded = state === "failed" || state === "cancelled" || state === "unknown";
    return hasEnded ? [{ ...job, isGone: true }] : [];
  });
}

const NO_URL = "Its provider gave no URL of it.";

function noLongerThere(
  { taskId, ledgerId, free, charged }: TaskReport,
  cause: ImggenError | null,
): SaveFailedError {
  const again =
    cause === null || ledgerId === null ? [] : [phrase`To try again: ${action("resume", ledgerId)}\n`];
  return new SaveFailedError(
    `The image of task ${taskId} is no longer where it was saved, and could not be saved again. ${cause?.message ?? NO_URL}`,
    {
      hint: [...again, ...toSubmitAgain(ledgerId, free)],
      charged,
      cause,
    },
  );
}

/** Waits for a task that the ledger does not have. @returns the report on one that was not seen to end */
export async function waitForId(
  job: Job,
  wait: WaitSettings,
  deps: TaskDeps,
  keepsReply = false,
): Promise<{ task: EndedState } | { report: TaskReport }> {
  const { taskId } = job;
  const report = reportOfId(taskId);
  deps.onProgress({ type: "waiting", taskId, usualMs: null });
  const waited = await waitForTask(
    taskId,
    {
      schedule: wait.schedule ?? (await deps.schedules.of(null)),
      timeoutMs: waitTimeoutMs(wait, null),
      ageMs: Number.POSITIVE_INFINITY,
      pollAtOnce: true,
      job,
      keepsReply,
    },
    deps,
  );
  switch (waited.outcome) {
    case "ended":
      return { task: waited.task };
    case "refused":
      return { report: { ...report, error: waited.error } };
    case "interrupted":
      return { report: { ...report, error: interruptedError(deps.signal, report.charged) } };
    case "gone": {
      const error = unseen(waited.lastFailure, "unknown", deps.connection.serviceUrl);
      return { report: { ...report, error } };
    }
    case "timeout": {
      const { lastFailure, wasSeen } = waited;
      if (wasSeen || lastFailure === null)
        return { report: { ...report, charged: "yes", error: running(taskId) } };
      return { report: { ...report, error: unseen(lastFailure, "unknown", deps.connection.serviceUrl) } };
    }
  }
}

/** Polls a task that the ledger does not have, and saves it. @throws UsageError, or what the account lacks */
export async function saveUnknownId(
  taskId: string,
  destination: Destination,
  wait: WaitSettings,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  requireId(taskId);
  const taskDeps = await deps.current();
  requirePolls(taskId, taskDeps);
  const { ledger } = deps;
  const job = jobOfId(taskId, ledger.work.scratch());
  try {
    const waited = await waitForId(job, wait, taskDeps, true);
    return "report" in waited ? waited.report : await saveEnded(job, waited.task, destination, taskDeps);
  } finally {
    ledger.work.remove(path.basename(job.folder));
  }
}

async function saveEnded(
  job: Job,
  task: EndedState,
  destination: Destination,
  deps: TaskDeps,
): Promise<TaskReport> {
  const { taskId } = job;
  const report = reportOfId(taskId);
  if (task.status === "failed") {
    const charged = task.charged ?? "unknown";
    return { ...report, state: "failed", charged, error: taskFailed(taskId, task) };
  }
  const { urls, reply, seeds } = task;
  const { provider } = deps.connection;
  if (reply !== undefined) await keepResult(job, reply);
  const { imagesHere, saveSources } = await import("./save.ts");
  const seedAtIndex = (at: number) => seedAt(seeds, at);
  const nowMs = deps.clock.now();
  const { result, failure } = await saveSources(
    {
      taskId,
      heldTaskId: null,
      request: null,
      facts: null,
      sinceMs: nowMs,
      sources:
        reply === undefined
          ? urls.map((url, at) => ({ kind: "url", url, freshUrl: async () => null, seed: seedAtIndex(at) }))
          : [{ kind: "here", request: 0, read: () => imagesHere(job, provider, seedAtIndex) }],
      savedFiles: [],
      copies: [],
      destination,
      replacesNewer: true,
      recovering: true,
      maxImages: 16,
      savesFurther: true,
    },
    deps,
  );
  const [bad] = result.bad;
  const none = bad && new SaveFailedError(`Task ${taskId} has no image: ${bad.why}.`, { charged: "yes" });
  const error = failure ?? none ?? null;
  return {
    ...report,
    state: error === null ? "saved" : "completed",
    charged: "yes",
    urls,
    files: result.files.filter((file) => file !== null),
    completedAt: isoTime(nowMs),
    warnings: result.warnings,
    error,
  };
}

function running(taskId: string): ImggenError {
  return new PendingError(`Task ${taskId} is still running.`, { charged: "yes" });
}

/** The error key for a task that the service does not know (section 7). */
const NO_SUCH_TASK = "image_generation.error.unknown_error";

/**
 * A report on an id that only the user has named. If the service refuses it too, or was not asked, nothing was charged and
 * there is nothing to resume.
 */
export function settledUnknownId(report: TaskReport): TaskReport {
  const { error, ledgerId, taskId } = report;
  if (ledgerId !== null || error === null) return report;
  const nothing = { ...report, state: "unknown", charged: "no" } as const;
  if (error.type === "usage")
    return error.charged === "unknown" ? { ...nothing, charged: "unknown" } : nothing;
  if (error.type !== "service_error" || error.key === null) return report;
  const what = error.key === NO_SUCH_TASK ? `The service does not know task ${taskId}.` : error.message;
  const hint = ["Nothing was charged.", phrase`To see the tasks of this machine: ${action("history")}`];
  return { ...nothing, error: new ServiceError(what, { key: error.key, hint, cause: error }) };
}

/** Refuses an empty id, most often a shell variable that is not set. @throws UsageError */
export function requireId(id: string): void {
  if (id.trim() !== "") return;
  const hint = ["Nothing was sent.", phrase`To see the tasks of this machine: ${action("history")}`];
  throw new UsageError("A task id is empty.", { hint });
}

/** Refuses a task that the ledger lacks if the provider gives no ids to ask by. @throws UsageError */
export function requirePolls(taskId: string, { connection }: Pick<TaskDeps, "connection">): void {
  const { provider, generator } = connection;
  if (provider.poll) return;
  throw new UsageError(
    `The ledger has no task ${taskId}, and ${generator?.name ?? "the service"} cannot be asked for it.`,
    {
      hint: [
        "Nothing was sent. A task of imggen serve is asked for there.",
        phrase`To see those of this machine: ${action("history")}`,
      ],
      charged: "unknown",
    },
  );
}
