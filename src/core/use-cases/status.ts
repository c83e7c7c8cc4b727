import { isoTime } from "../../lib/clock.ts";
import { mapInOrder } from "../../lib/concurrency.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { Destination } from "../../task/intent.ts";
import { displayId, getCharged, type Task, withLine } from "../../task/task.ts";
import {
  catchIntoIdReport,
  catchIntoReport,
  continueNamed,
  continueTask,
  requireId,
  requirePolls,
  saveAgain,
  saveUnknownId,
} from "../engine/continue.ts";
import type { TaskDeps, UseCaseDeps } from "../engine/deps.ts";
import {
  type AcceptedJob,
  knownJobs,
  pollError,
  stillRunningError,
  waitForJob,
} from "../engine/follow-job.ts";
import { createIdJob, createJob } from "../engine/jobs.ts";
import { distinctTasks, type NamedTask } from "../engine/named-tasks.ts";
import { originOfFile } from "../engine/origin.ts";
import { createEndLine } from "../engine/reply-lines.ts";
import { createIdReport, type TaskReport, taskReport } from "../engine/report.ts";
import { noLongerKnownError, taskFailedError } from "../engine/task-error.ts";
import { MissingProviderError } from "../errors.ts";
import { requireFolderForSeveral } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { isNotYetKnown, pollOnce, type WaitSettings } from "../polling/wait.ts";

export interface StatusSpec {
  /** null to poll once. */
  wait: WaitSettings | null;
  /** Destination of a completed task's images; null to save none. */
  destination: Destination | null;
}

/**
 * Returns the tasks of ids or image files. @throws UsageError for an ambiguous id prefix or an unknown image
 * @param resolvePath makes a path absolute; if it throws because there is no working folder, the name counts as an id
 */
export async function namedTasks(
  names: readonly string[],
  resolvePath: (file: string) => string,
  ledger: Ledger,
): Promise<NamedTask[]> {
  const origins = await Promise.all(
    names.map(async (name) => {
      const file = await Promise.resolve(name)
        .then(resolvePath)
        .catch(() => null);
      return file === null ? null : originOfFile(name, file, ledger);
    }),
  );
  const ids = names.map((name, at) => origins[at]?.taskId ?? name);
  const records = await ledger.findByIds(ids.filter((_, at) => !origins[at]?.record));
  return ids.map((id, at) => ({ id, record: origins[at]?.record ?? records.get(id) ?? null }));
}

export interface StatusEvents {
  /** Called with all tasks before the first poll. */
  onBegin?: (tasks: readonly NamedTask[]) => Promise<void>;
  /** Called after the last poll of a task. @param at index of the task */
  onPolled?: (at: number) => void;
  /** Called for each task, in the order in which the user named the tasks. */
  onEnd?: (report: TaskReport, at: number) => Promise<void>;
}

/**
 * Polls tasks concurrently. If images are saved, a task that was named several times is reported and saved once.
 * @throws UsageError if several tasks would be saved in one file, SaveFailedError if the destination is unusable
 */
export async function status(
  namedTasks: readonly NamedTask[],
  spec: StatusSpec,
  deps: UseCaseDeps,
  { onBegin = async () => {}, onPolled = () => {}, onEnd = async () => {} }: StatusEvents = {},
): Promise<TaskReport[]> {
  const { destination } = spec;
  const tasks = destination ? distinctTasks(namedTasks) : namedTasks;
  requireFolderForSeveral(destination, tasks.length);
  if (destination) await prepareDestination(destination);
  await onBegin(tasks);
  return mapInOrder(
    tasks.map(async (task, at) => {
      const report = await pollTask(task, spec, deps);
      onPolled(at);
      return { report, at };
    }),
    async ({ report, at }) => {
      await onEnd(report, at);
      return report;
    },
  );
}

/** Expected errors are in the report, not thrown. */
async function pollTask(
  { id, record }: NamedTask,
  options: StatusSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  if (record === null) return catchIntoIdReport(id, () => statusOfId(id, options, deps), deps);
  return catchIntoReport(taskReport(record), () => statusOfTask(record, options, deps));
}

/** Submits nothing, and records only saved images. If the task has no job, returns the status in the ledger. */
async function statusOfTask(
  task: Task,
  { wait, destination }: StatusSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const jobs = knownJobs(task);
  if (task.state === "cancelled") return taskReport(task);
  if (jobs.length === 0) return statusWithoutJob(task, { wait, destination }, deps);
  const taskDeps = await deps.depsFor(task.intent, displayId(task));
  const report = await statusOfJobs(task, jobs, { wait, destination }, taskDeps, deps);
  // A result URL can contain the API key.
  return { ...report, urls: report.urls.map(taskDeps.connection.maskUrl) };
}

async function statusOfJobs(
  task: Task,
  jobs: readonly AcceptedJob[],
  { wait, destination }: StatusSpec,
  taskDeps: TaskDeps,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  if (!taskDeps.connection.provider.poll) return taskReport(task);
  const isUnsent = task.requests.some(({ state }) => state === "waiting");
  const polledTask =
    wait === null || isUnsent
      ? await pollJobsOnce(task, jobs, taskDeps)
      : await waitForJobs(task, jobs, wait, taskDeps);
  if ("ledgerId" in polledTask) return polledTask;
  const hasCompleted =
    polledTask.state === "completed" || polledTask.requests.some(({ state }) => state === "completed");
  if (destination === null || !hasCompleted) return taskReport(polledTask);
  const noWait = { timeoutMs: 0, schedule: null };
  if (task.state === "saved") return saveAgain(task, { wait: noWait, destination }, deps);
  if (task.state === "failed") return continueNamed(task, { wait: noWait, destination, sends: false }, deps);
  return continueTask(task, { wait: noWait, destination, sends: false }, deps);
}

/**
 * @returns the polled task, or the report if all its jobs wait at the provider @throws if a poll has no usable reply
 */
async function pollJobsOnce(
  task: Task,
  jobs: readonly AcceptedJob[],
  deps: TaskDeps,
): Promise<Task | TaskReport> {
  let polledTask = task;
  let waitingCount = 0;
  for (const job of jobs) {
    const pollOptions = { job: createJob(task, job.request, job.attempt, deps.ledger.work) };
    const reply = await pollOnce(job.id, pollOptions, deps);
    if (deps.signal.aborted) throw interruptedError(deps.signal, getCharged(task));
    if (reply.outcome === "retry" && reply.isMissing && job.isGone && task.state === "accepted")
      throw noLongerKnownError(task, reply.why);
    if (reply.outcome === "retry") throw pollError(reply, getCharged(task), deps.connection.serviceUrl);
    const ageMs = deps.clock.now() - job.acceptedMs;
    if (reply.outcome === "refused" && !isNotYetKnown(reply.error, ageMs)) throw reply.error;
    const state = reply.outcome === "state" ? reply.task : { status: "running" as const };
    polledTask = withState(polledTask, job, state, deps);
    if (state.status === "running" && "isWaiting" in state) waitingCount += 1;
  }
  return waitingCount === task.requests.length ? { ...taskReport(polledTask), state: "waiting" } : polledTask;
}

/** @returns the polled task, or the report if the wait ended before the task */
async function waitForJobs(
  task: Task,
  jobs: readonly AcceptedJob[],
  wait: WaitSettings,
  deps: TaskDeps,
): Promise<Task | TaskReport> {
  let polledTask = task;
  const waits = await Promise.all(
    jobs.map(async (job) => ({
      job,
      waitResult: await waitForJob(task, job, { ...wait, pollAtOnce: true }, deps),
    })),
  );
  for (const { job, waitResult } of waits) {
    if (waitResult.outcome === "refused") throw waitResult.error;
    if (waitResult.outcome === "interrupted") throw deps.signal.reason;
    if (waitResult.outcome === "gone" && task.state === "accepted")
      throw noLongerKnownError(task, waitResult.lastFailure.why);
    if (waitResult.outcome === "gone")
      throw pollError(waitResult.lastFailure, getCharged(task), deps.connection.serviceUrl);
    if (waitResult.outcome === "ended") polledTask = withState(polledTask, job, waitResult.task, deps);
    else {
      const { lastFailure } = waitResult;
      if (lastFailure !== null && !waitResult.wasSeen && task.state === "failed")
        throw pollError(lastFailure, getCharged(task), deps.connection.serviceUrl);
      polledTask = withState(polledTask, job, { status: "running" }, deps);
      if (lastFailure !== null)
        return { ...taskReport(polledTask), error: stillRunningError(polledTask, lastFailure.why) };
    }
  }
  return polledTask;
}

type PolledJob = Parameters<typeof createEndLine>[0] | { status: "running" };

/** Returns the task with the polled state, without recording the state. */
function withState(task: Task, job: AcceptedJob, state: PolledJob, { clock }: TaskDeps): Task {
  const at = isoTime(clock.now());
  const { request, attempt, id: taskId } = job;
  if (state.status === "running")
    return task.state === "failed" || task.state === "unknown" || job.isGone
      ? withLine(task, { type: "accepted", at, request, attempt, taskId })
      : task;
  return withLine(task, createEndLine(state, job, at));
}

/** A free request whose process has ended counts as waiting for another submit. */
async function statusWithoutJob(
  task: Task,
  { wait, destination }: StatusSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const latest = await deps.ledger.withLostReplies(task);
  if (destination !== null) {
    if (latest.state === "saved")
      return saveAgain(latest, { wait: { timeoutMs: 0, schedule: null }, destination }, deps);
    if (latest.requests.some(({ state }) => state === "completed"))
      return continueTask(
        latest,
        { wait: wait ?? { timeoutMs: 0, schedule: null }, destination, sends: false },
        deps,
      );
  }
  const currentTask = await withWaitingRequests(latest, deps);
  if (currentTask.state === "waiting") await requireProvider(currentTask, deps);
  const isIdle = currentTask.state === "waiting" && !deps.ledger.isClaimed(currentTask);
  return { ...taskReport(currentTask), ...(isIdle && { isIdle }) };
}

/** @throws MissingProviderError */
async function requireProvider(task: Task, deps: UseCaseDeps): Promise<void> {
  await deps.depsFor(task.intent, displayId(task)).catch((error: unknown) => {
    if (error instanceof MissingProviderError) throw error;
  });
}

/** Marks requests of an ended process as waiting if the free provider no longer works on them. */
async function withWaitingRequests(task: Task, deps: UseCaseDeps): Promise<Task> {
  const isStarted = task.requests.some(({ state }) => state === "started");
  if (!isStarted || task.intent.isPaid || deps.ledger.isClaimed(task)) return task;
  const { connection, ledger, signal, clock } = await deps.depsFor(task.intent, displayId(task));
  let currentTask = task;
  for (const [request, { state, attempt }] of task.requests.entries()) {
    if (state !== "started" || attempt === null) continue;
    const job = createJob(task, request, attempt.name, ledger.work);
    if (await connection.provider.isAtWork?.(job, signal)) continue;
    const why = "its process ended";
    currentTask = withLine(currentTask, {
      type: "waiting",
      at: isoTime(clock.now()),
      request,
      attempt: attempt.name,
      why,
    });
  }
  return currentTask;
}

/** Returns the status of an id that is not in the ledger. @throws if a poll has no usable reply */
async function statusOfId(
  id: string,
  { wait, destination }: StatusSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  requireId(id);
  const taskDeps = await deps.current();
  requirePolls(id, taskDeps);
  const report = createIdReport(id);
  const { ledger } = deps;
  const job = createIdJob(id, ledger.work.scratch());
  if (wait !== null || destination !== null) {
    if (destination !== null)
      return saveUnknownId(id, destination, wait ?? { timeoutMs: 0, schedule: null }, deps);
    const { waitForId } = await import("../engine/continue.ts");
    const waitResult = await waitForId(job, wait ?? { timeoutMs: 0, schedule: null }, taskDeps);
    return "report" in waitResult ? waitResult.report : createEndedReport(report, id, waitResult.task);
  }
  const reply = await pollOnce(id, { job }, taskDeps);
  if (taskDeps.signal.aborted) throw interruptedError(taskDeps.signal, report.charged);
  if (reply.outcome === "retry") throw pollError(reply, report.charged, taskDeps.connection.serviceUrl);
  if (reply.outcome === "refused") throw reply.error;
  if (reply.task.status === "running") return { ...report, state: "accepted", charged: "yes" };
  return createEndedReport(report, id, reply.task);
}

function createEndedReport(
  report: TaskReport,
  id: string,
  end: Parameters<typeof createEndLine>[0],
): TaskReport {
  if (end.status === "failed")
    return { ...report, state: "failed", charged: end.charged ?? "unknown", error: taskFailedError(id, end) };
  const usage = end.usage && { usage: end.usage };
  return { ...report, state: "completed", charged: "yes", urls: end.urls, ...usage };
}
