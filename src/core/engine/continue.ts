import path from "node:path";
import { ServiceError } from "../../api/api-errors.ts";
import { isoTime } from "../../lib/clock.ts";
import { type ErrorType, ImggenError, UsageError } from "../../lib/error-types.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Job } from "../../providers/provider.ts";
import { storeResult } from "../../providers/stored-reply.ts";
import { type Destination, recoveryDestination, SANDBOX_SERVICE } from "../../task/intent.ts";
import { type Line, seedAt } from "../../task/line.ts";
import { fileIndex, type SavedFile } from "../../task/saved-file.ts";
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
import { claimedError, PendingError, SaveFailedError } from "../errors.ts";
import { isWhole } from "../images/copy-image.ts";
import type { ImageSource } from "../images/image-source.ts";
import {
  type EndedState,
  goneReason,
  type WaitResult,
  type WaitSettings,
  waitForTask,
  waitTimeoutMs,
} from "../polling/wait.ts";
import { type ClaimedTask, claimTask } from "./claimed-task.ts";
import type { TaskDeps, UseCaseDeps } from "./deps.ts";
import { closeUnsent, driveTask } from "./drive.ts";
import {
  type AcceptedJob,
  hasUrls,
  isLostJob,
  knownJobs,
  openJobs,
  pollError,
  stillRunningError,
  waitForJob,
} from "./follow-job.ts";
import { createIdJob, createJob } from "./jobs.ts";
import { createIdReport, type TaskReport, taskFacts, taskReport } from "./report.ts";
import { ENDED_BEFORE_SUBMIT, noLongerKnownError, resubmitAdvice, taskFailedError } from "./task-error.ts";

export interface ContinueSpec {
  wait: WaitSettings;
  /** Overrides the recorded destination if not null. */
  destination: Destination | null;
  keepsNewer?: boolean;
  /** Whether to submit waiting requests and recover lost replies. False for a command that must not submit. */
  sends: boolean;
}

/**
 * Finishes one task that the user named, and reports expected errors. Polls a failed or cancelled task again, because
 * the provider might have completed it since. Saves images again if a destination is given or their files have changed.
 */
export async function continueNamed(task: Task, spec: ContinueSpec, deps: UseCaseDeps): Promise<TaskReport> {
  const isPollable = task.state === "unknown" || task.state === "cancelled";
  if (task.state === "failed" || (isPollable && endedJobs(task).length > 0))
    return catchIntoReport(taskReport(task), () => pollEndedJobs(task, spec, deps));
  if (task.state !== "saved") return continueTask(task, spec, deps);
  return catchIntoReport(taskReport(task), async () => {
    if (spec.destination === null && (await areFilesUnchanged(getSavedFiles(task))))
      return { ...(await continueTask(task, spec, deps)), isSavedBefore: true };
    return saveAgain(task, spec, deps);
  });
}

/** Finishes one task. A task that only waits for jobs is not claimed before a job ends, because polls need no claim. */
export function continueTask(
  task: Task,
  requestedSpec: ContinueSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  return catchIntoReport(taskReport(task), async () => {
    if (deps.ledger.isClaimed(task)) return claimedElsewhereReport(task, deps);
    if (isUpToUser(task, requestedSpec)) return recoverLostReplies(task, requestedSpec, deps);
    const jobs = openJobs(task);
    const isUnsent = !requestedSpec.sends && task.requests.some(({ state }) => state === "waiting");
    // Unsent requests never end in a command that does not submit, so the timeout is 0.
    const spec = isUnsent
      ? { ...requestedSpec, wait: { ...requestedSpec.wait, timeoutMs: 0 } }
      : requestedSpec;
    const isFollowed = jobs.length > 0 && !hasOtherWork(task, spec);
    const seen = new Map<number, WaitResult>();
    if (isFollowed) {
      const report = await waitForFirst(task, jobs, spec, seen, deps);
      if (report !== null) return report;
    }
    const claimedTask = await claimTask(task, deps.ledger, () => {});
    if (claimedTask === "claimed") return claimedElsewhereReport(task, deps);
    if (claimedTask === "ended") return taskReport((await deps.ledger.find(task.id)) ?? task);
    return continueClaimed(claimedTask, spec, deps, seen);
  });
}

function isUpToUser(task: Task, { destination }: ContinueSpec): boolean {
  return openTaskState(task) === "unknown" && (task.state === "unknown" || destination === null);
}

/** Asks the provider for lost replies. Claims the task only if a request was accepted, because a claim adds a file. */
async function recoverLostReplies(task: Task, spec: ContinueSpec, deps: UseCaseDeps): Promise<TaskReport> {
  const acceptedLines = spec.sends ? await findAcceptedRequests(task, deps) : [];
  if (acceptedLines.length === 0) return taskReport(task);
  const claimedTask = await claimTask(task, deps.ledger, () => {});
  if (claimedTask === "claimed") return claimedElsewhereReport(task, deps);
  if (claimedTask === "ended") return taskReport((await deps.ledger.find(task.id)) ?? task);
  for (const line of acceptedLines) await claimedTask.record(line);
  return continueClaimed(claimedTask, spec, deps);
}

async function findAcceptedRequests(task: Task, deps: UseCaseDeps): Promise<Line<"accepted">[]> {
  const unknownRequests = task.requests.flatMap(({ state, attempt }, request) =>
    state === "unknown" && attempt !== null ? [{ request, attempt: attempt.name }] : [],
  );
  try {
    const { connection } = await deps.depsFor(task.intent, displayId(task));
    const recoverOptions = { signal: AbortSignal.abort(new Error("asked once")), onProgress: () => {} };
    const lookups = unknownRequests.map(async ({ request, attempt }): Promise<Line<"accepted">[]> => {
      const job = createJob(task, request, attempt, deps.ledger.work);
      const reply = await connection.provider.recover?.(job, recoverOptions);
      const at = isoTime(deps.clock.now());
      return reply?.outcome === "accepted"
        ? [{ type: "accepted", at, request, attempt, taskId: reply.taskId }]
        : [];
    });
    return (await Promise.all(lookups)).flat();
  } catch (error) {
    // The outcome stays unknown if the provider cannot be used.
    if (error instanceof ImggenError) return [];
    throw error;
  }
}

function hasOtherWork({ requests }: Task, { sends }: ContinueSpec): boolean {
  return requests.some((request) => {
    if (request.state === "completed") return !hasUrls(request);
    return sends && (request.state === "waiting" || request.state === "started");
  });
}

/** Waits until a job of a task has ended. @returns null if there is a result to record, otherwise the report */
async function waitForFirst(
  task: Task,
  jobs: readonly AcceptedJob[],
  { wait, sends }: ContinueSpec,
  seen: Map<number, WaitResult>,
  deps: UseCaseDeps,
): Promise<TaskReport | null> {
  const taskDeps = await deps.depsFor(task.intent, displayId(task));
  if (jobs.some(({ acceptedMs }) => Math.abs(deps.clock.now() - acceptedMs) < MAX_WRITEBACK_MS))
    await deps.ledger.sync(task);
  const firstEnd = new AbortController();
  const signal = AbortSignal.any([taskDeps.signal, firstEnd.signal]);
  const endsWait = (waitResult: WaitResult) =>
    waitResult.outcome === "ended" || (sends && isLostJob(task, waitResult));
  const waits = jobs.map(async (job) => {
    const followSpec = { ...wait, pollAtOnce: true, keepsReply: true };
    const waitResult = await waitForJob(task, job, followSpec, { ...taskDeps, signal });
    if (firstEnd.signal.aborted && !endsWait(waitResult)) return;
    seen.set(job.request, waitResult);
    if (endsWait(waitResult)) firstEnd.abort();
  });
  await Promise.all(waits);
  const isGoneNow = (waitResult: WaitResult | undefined) =>
    waitResult !== undefined && goneReason(waitResult) !== null;
  const results = [...seen.values()];
  if (results.some(endsWait)) {
    for (const [request, waitResult] of seen) if (!endsWait(waitResult)) seen.delete(request);
    return null;
  }
  // A lost job is recorded as gone only once, because a record for every `resume` would let the file grow.
  if (jobs.some(({ request, isGone }) => !isGone && isGoneNow(seen.get(request)))) return null;
  const [first] = results;
  const report = taskReport(task);
  switch (first?.outcome) {
    case "refused":
      return { ...report, error: first.error };
    case "timeout":
      return { ...report, error: stillRunningError(task, first.lastFailure?.why ?? null) };
    case "gone":
      return { ...report, error: noLongerKnownError(task, first.lastFailure.why) };
    default:
      return { ...report, error: interruptedError(taskDeps.signal, report.charged) };
  }
}

/** Time after which every operating system has written a file to disk, even without a sync. */
const MAX_WRITEBACK_MS = 10 * 60_000;

/** Continues a claimed task as far as possible. @throws ImggenError if the provider of the task cannot be used */
export async function continueClaimed(
  claimedTask: ClaimedTask,
  spec: ContinueSpec,
  deps: UseCaseDeps,
  seen?: ReadonlyMap<number, WaitResult>,
): Promise<TaskReport> {
  const { task } = claimedTask;
  if (!isResumable(task.state)) {
    // No work is left if the task's process was killed before it moved the file to `done`, or if the user must decide.
    await claimedTask.release();
    return taskReport(claimedTask.task);
  }
  if (spec.sends && endsUnsent(task)) {
    await closeUnsent(claimedTask, unsentReason(task), deps);
    return taskReport(claimedTask.task);
  }
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(task.intent, displayId(task));
  } catch (error) {
    await claimedTask.release();
    throw error;
  }
  return driveTask(claimedTask, { ...spec, isContinued: true, ...(seen && { seen }) }, [], taskDeps);
}

function unsentReason({ requests }: Task): string {
  const [why] = requests.flatMap((request) => getAnswer(request, "waiting")?.why ?? []);
  return why === undefined ? ENDED_BEFORE_SUBMIT : ENDED_WHILE_RATE_LIMITED;
}

const ENDED_WHILE_RATE_LIMITED =
  "the service was busy (HTTP 429), and imggen ended before it could submit it again";

/** Report on a task that another process has claimed. Has no error if the task has already ended. */
async function claimedElsewhereReport(task: Task, { ledger }: UseCaseDeps): Promise<TaskReport> {
  const report = taskReport(task);
  return STATES[task.state].isOpen ? { ...report, error: await claimedError(task, ledger) } : report;
}

export async function catchIntoReport(
  report: TaskReport,
  run: () => Promise<TaskReport>,
): Promise<TaskReport> {
  try {
    return settleUnknownId(await run());
  } catch (error) {
    if (error instanceof ImggenError) return settleUnknownId({ ...report, error });
    throw error;
  }
}

/** Reports on an id that is not in the ledger, including expected errors. A task of the sandbox counts as free. */
export async function catchIntoIdReport(
  id: string,
  run: () => Promise<TaskReport>,
  { current }: Pick<UseCaseDeps, "current">,
): Promise<TaskReport> {
  const report = await catchIntoReport(createIdReport(id), run);
  const baseUrl = await current().then(
    ({ connection }) => connection.identity.baseUrl,
    () => null,
  );
  if (baseUrl !== SANDBOX_SERVICE) return report;
  return { ...report, free: "sandbox", charged: "no", credits: 0 };
}

/** Polls the jobs of ended requests again, and reopens the task if one of the jobs has not failed. */
async function pollEndedJobs(task: Task, spec: ContinueSpec, deps: UseCaseDeps): Promise<TaskReport> {
  const { ledger } = deps;
  // The process that ended the task has the claim until it has moved the file to `done`.
  if (ledger.isClaimed(task)) return { ...taskReport(task), error: await claimedError(task, ledger) };
  if (ledger.isOpen(task.id)) {
    const continued = await continueTask(task, spec, deps);
    if (continued.error?.type !== "generation_failed" && continued.state !== "unknown") return continued;
  }
  const jobs = endedJobs(task);
  if (jobs.length === 0) return taskReport(task);
  const taskDeps = await deps.depsFor(task.intent, displayId(task));
  if (!taskDeps.connection.provider.poll) return taskReport(task);
  const seen = new Map<number, WaitResult>();
  const report = taskReport(task);
  for (const job of jobs) {
    const followSpec = { ...spec.wait, pollAtOnce: true, keepsReply: true };
    const waitResult = await waitForJob(task, job, followSpec, taskDeps);
    if (waitResult.outcome === "refused") return { ...report, error: waitResult.error };
    if (waitResult.outcome === "interrupted")
      return { ...report, error: interruptedError(taskDeps.signal, report.charged) };
    if (waitResult.outcome === "gone") continue;
    const isRunning = waitResult.outcome === "timeout" && waitResult.wasSeen;
    if (waitResult.outcome === "timeout" && !isRunning && waitResult.lastFailure !== null)
      return {
        ...report,
        error: pollError(waitResult.lastFailure, report.charged, taskDeps.connection.serviceUrl),
      };
    const isFailed = waitResult.outcome === "ended" && waitResult.task.status === "failed";
    if (!isFailed) seen.set(job.request, waitResult);
  }
  if (seen.size === 0) return report;
  await ledger.reopen(task.id);
  const claimedTask = await claimTask(task, ledger, () => {});
  if (claimedTask === "claimed") return { ...report, error: await claimedError(task, ledger) };
  if (claimedTask === "ended") return taskReport((await ledger.find(task.id)) ?? task);
  const at = isoTime(deps.clock.now());
  for (const job of jobs)
    if (seen.has(job.request))
      await claimedTask.record({
        type: "accepted",
        at,
        request: job.request,
        attempt: job.attempt,
        taskId: job.id,
      });
  return continueClaimed(claimedTask, spec, deps, seen);
}

/** Saves a task's images again, without a change to the ledger: copies unchanged files, or downloads the images. */
export async function saveAgain(
  task: Task,
  { destination, wait, keepsNewer = false }: Pick<ContinueSpec, "wait" | "destination" | "keepsNewer">,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const report = taskFacts(task);
  const files = getSavedFiles(task);
  const areUnchanged = await areFilesUnchanged(files);
  if (files.length > 0 && !areUnchanged && hasNoUrl(files))
    return { ...report, error: imageGoneError(report, null) };
  const taskDeps = await deps.depsFor(task.intent, displayId(task));
  const hasRecordedUrls = areUnchanged || knownJobs(task).length === 0;
  const sources = hasRecordedUrls
    ? files.map(({ url, seed }) => urlSource([url ?? ""], () => seed))
    : await pollSources(task, wait, taskDeps);
  if (sources instanceof ImggenError) return { ...report, error: sources };
  const { saveSources, sidecarFacts } = await import("./save.ts");
  const { result, failure } = await saveSources(
    {
      taskId: displayId(task),
      claimedTaskId: null,
      request: task.intent.request,
      facts: sidecarFacts(report, taskDeps),
      sinceMs: Date.parse(task.submittedAt),
      sources,
      savedFiles: [],
      copies: hasRecordedUrls ? files : task.files,
      destination: destination ?? recoveryDestination(task.intent.destination),
      replacesNewer: destination !== null && !keepsNewer,
      recovering: true,
    },
    taskDeps,
  );
  const savedFiles = result.files.filter((file) => file !== null);
  const warnings = [...report.warnings, ...result.warnings];
  if (failure === null) return { ...report, state: "saved", files: savedFiles, warnings };
  const isGone = !areUnchanged && GONE_ERRORS.has(failure.type);
  const error = isGone ? imageGoneError(report, failure) : failure;
  return { ...report, files: savedFiles, warnings, error };
}

function urlSource(
  urls: readonly string[],
  getSeed: (at: number) => WholeNumber | null | undefined,
): ImageSource {
  const freshUrl = async () => null;
  return {
    kind: "urls",
    images: urls.map((url, at) => ({ kind: "url", url, freshUrl, seed: getSeed(at) ?? null })),
  };
}

async function pollSources(
  task: Task,
  wait: WaitSettings,
  deps: TaskDeps,
): Promise<ImageSource[] | ImggenError> {
  const sources: ImageSource[] = task.requests.map(() => ({ kind: "skipped" }));
  for (const job of knownJobs(task)) {
    const waitResult = await waitForJob(task, job, { ...wait, pollAtOnce: true }, deps);
    const report = taskFacts(task);
    if (waitResult.outcome === "refused") return waitResult.error;
    if (waitResult.outcome === "interrupted") return interruptedError(deps.signal, report.charged);
    if (waitResult.outcome === "gone") return noLongerKnownError(task, waitResult.lastFailure.why);
    if (waitResult.outcome === "timeout")
      return waitResult.lastFailure === null
        ? stillRunningError(task, null)
        : pollError(waitResult.lastFailure, report.charged, deps.connection.serviceUrl);
    if (waitResult.task.status === "failed") return taskFailedError(displayId(task), waitResult.task);
    const { files, requests } = task;
    const getSeed = (at: number) => files[fileIndex(at, job.request, requests.length)]?.seed;
    sources[job.request] = urlSource(waitResult.task.urls, getSeed);
  }
  return sources;
}

async function areFilesUnchanged(files: readonly SavedFile[]): Promise<boolean> {
  const checks = await Promise.all(files.map(async (file) => file.path !== null && isWhole(file)));
  return files.length > 0 && checks.every(Boolean);
}

function hasNoUrl(files: readonly SavedFile[]): boolean {
  return files.every(({ url }) => url === null);
}

export async function copyResult(
  task: Task,
  destination: Extract<Destination, { kind: "file" }>,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const report = taskReport(task);
  const files = getSavedFiles(task);
  if ((await areFilesUnchanged(files)) && files[0]?.path === destination.path)
    return { ...report, isSavedBefore: true };
  return saveAgain(task, { destination, wait: wait ?? { timeoutMs: 0, schedule: null } }, deps);
}

/** Types of errors that mean that the provider no longer has a task's images. */
const GONE_ERRORS: ReadonlySet<ErrorType> = new Set(["save_failed", "service_error", "generation_failed"]);

/**
 * Jobs of failed, cancelled and unknown requests. `isGone` is set, so that the first poll that does not find a job ends
 * the wait.
 */
function endedJobs(task: Task): AcceptedJob[] {
  return knownJobs(task).flatMap((job) => {
    const state = task.requests[job.request]?.state;
    const hasEnded = state === "failed" || state === "cancelled" || state === "unknown";
    return hasEnded ? [{ ...job, isGone: true }] : [];
  });
}

const NO_URL = "Its provider returned no URL.";

function imageGoneError(
  { taskId, ledgerId, free, charged }: TaskReport,
  cause: ImggenError | null,
): SaveFailedError {
  const retryAdvice =
    cause === null || ledgerId === null ? [] : [phrase`To try again: ${action("resume", ledgerId)}\n`];
  return new SaveFailedError(
    `The image of task ${taskId} is no longer where it was saved, and could not be saved again. ${cause?.message ?? NO_URL}`,
    {
      hint: [...retryAdvice, ...resubmitAdvice(ledgerId, free)],
      charged,
      cause,
    },
  );
}

/** Waits for a task that is not in the ledger. @returns the ended task, or the report if the wait ended first */
export async function waitForId(
  job: Job,
  wait: WaitSettings,
  deps: TaskDeps,
  keepsReply = false,
): Promise<{ task: EndedState } | { report: TaskReport }> {
  const { taskId } = job;
  const report = createIdReport(taskId);
  deps.onProgress({ type: "waiting", taskId, usualMs: null });
  const waitResult = await waitForTask(
    taskId,
    {
      schedule: wait.schedule ?? (await deps.schedules.forRequest(null)),
      timeoutMs: waitTimeoutMs(wait, null),
      ageMs: Number.POSITIVE_INFINITY,
      pollAtOnce: true,
      job,
      keepsReply,
    },
    deps,
  );
  switch (waitResult.outcome) {
    case "ended":
      return { task: waitResult.task };
    case "refused":
      return { report: { ...report, error: waitResult.error } };
    case "interrupted":
      return { report: { ...report, error: interruptedError(deps.signal, report.charged) } };
    case "gone": {
      const error = pollError(waitResult.lastFailure, "unknown", deps.connection.serviceUrl);
      return { report: { ...report, error } };
    }
    case "timeout": {
      const { lastFailure, wasSeen } = waitResult;
      if (wasSeen || lastFailure === null)
        return { report: { ...report, charged: "yes", error: stillRunningIdError(taskId) } };
      return { report: { ...report, error: pollError(lastFailure, "unknown", deps.connection.serviceUrl) } };
    }
  }
}

/** Polls a task that is not in the ledger, and saves its images. @throws UsageError, or an error of the account */
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
  const job = createIdJob(taskId, ledger.work.scratch());
  try {
    const waitResult = await waitForId(job, wait, taskDeps, true);
    return "report" in waitResult
      ? waitResult.report
      : await saveEndedJob(job, waitResult.task, destination, taskDeps);
  } finally {
    ledger.work.remove(path.basename(job.folder));
  }
}

async function saveEndedJob(
  job: Job,
  task: EndedState,
  destination: Destination,
  deps: TaskDeps,
): Promise<TaskReport> {
  const { taskId } = job;
  const report = createIdReport(taskId);
  if (task.status === "failed") {
    const charged = task.charged ?? "unknown";
    return { ...report, state: "failed", charged, error: taskFailedError(taskId, task) };
  }
  const { urls, reply, seeds } = task;
  const { provider } = deps.connection;
  if (reply !== undefined) await storeResult(job, reply);
  const { readStoredImages, saveSources } = await import("./save.ts");
  const seedAtIndex = (at: number) => seedAt(seeds, at);
  const nowMs = deps.clock.now();
  const { result, failure } = await saveSources(
    {
      taskId,
      claimedTaskId: null,
      request: null,
      facts: null,
      sinceMs: nowMs,
      sources:
        reply === undefined
          ? [urlSource(urls, seedAtIndex)]
          : [{ kind: "reply", read: () => readStoredImages(job, provider, seedAtIndex) }],
      savedFiles: [],
      copies: [],
      destination,
      replacesNewer: true,
      recovering: true,
    },
    deps,
  );
  const [badImage] = result.bad;
  const noImageError =
    badImage && new SaveFailedError(`Task ${taskId} has no image: ${badImage.why}.`, { charged: "yes" });
  const error = failure ?? noImageError ?? null;
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

function stillRunningIdError(taskId: string): ImggenError {
  return new PendingError(`Task ${taskId} is still running.`, { charged: "yes" });
}

const NO_SUCH_TASK = "image_generation.error.unknown_error";

/** If the service refused an id that is not in the ledger, or was not called, nothing was charged. */
export function settleUnknownId(report: TaskReport): TaskReport {
  const { error, ledgerId, taskId } = report;
  if (ledgerId !== null || error === null) return report;
  const uncharged = { ...report, state: "unknown", charged: "no" } as const;
  if (error.type === "usage")
    return error.charged === "unknown" ? { ...uncharged, charged: "unknown" } : uncharged;
  if (error.type !== "service_error" || error.key === null) return report;
  const message = error.key === NO_SUCH_TASK ? `The service has no task ${taskId}.` : error.message;
  const hint = ["Nothing was charged.", phrase`To see the tasks of this machine: ${action("history")}`];
  return { ...uncharged, error: new ServiceError(message, { key: error.key, hint, cause: error }) };
}

/** Refuses an empty id, which most often comes from an unset shell variable. @throws UsageError */
export function requireId(id: string): void {
  if (id.trim() !== "") return;
  const hint = ["Nothing was sent.", phrase`To see the tasks of this machine: ${action("history")}`];
  throw new UsageError("A task id is empty.", { hint });
}

/** Refuses an id that is not in the ledger if the provider does not support polls. @throws UsageError */
export function requirePolls(taskId: string, { connection }: Pick<TaskDeps, "connection">): void {
  const { provider, generator } = connection;
  if (provider.poll) return;
  throw new UsageError(
    `The ledger has no task ${taskId}, and ${generator?.name ?? "the service"} cannot be polled for it.`,
    {
      hint: [
        "Nothing was sent. To resume a task of imggen serve, use that server as the service.",
        phrase`To see the tasks of this machine: ${action("history")}`,
      ],
      charged: "unknown",
    },
  );
}
