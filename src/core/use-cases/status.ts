import { inOrder } from "../../lib/concurrency.ts";
import type { Charged } from "../../lib/error-types.ts";
import type { PolledState } from "../../providers/provider.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { Destination } from "../../task/intent.ts";
import type { Task } from "../../task/task.ts";
import type { TaskDeps, UseCaseDeps } from "../engine/deps.ts";
import { requireFolderForSeveral } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { isNotYetKnown, pollOnce as pollTask, type WaitSettings } from "../polling/wait.ts";
import { polledRecord } from "../task/accepted.ts";
import { ageOf, awaitTask, endedReport, leftUnfinished, unseen } from "../task/finish.ts";
import { distinct, type NamedTask } from "../engine/named-tasks.ts";
import { originOfFile } from "../engine/origin.ts";
import { reportOf, reportOfId, type TaskReport } from "../engine/report.ts";
import { reported, resumeFound } from "../task/resume-task.ts";
import { requireId, requirePolls, saveUnknownId } from "../task/save-again.ts";
import type { AcceptedTask } from "../task/save-task.ts";
import { withRateLimitedPolls } from "./resume.ts";

export interface StatusSpec {
  /** null: poll once. */
  wait: WaitSettings | null;
  /** Where to save a completed task's images; null saves nothing. */
  destination: Destination | null;
}

/**
 * The tasks with these ids, or of these images.
 * @param resolvePath makes a path absolute; throws if there is no working folder, and so no such file
 * @throws UsageError for an id that fits several tasks, or a file that is no image of a known one
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
  const records = await ledger.findEach(ids.filter((_, at) => !origins[at]?.record));
  return ids.map((id, at) => ({ id, record: origins[at]?.record ?? records.get(id) ?? null }));
}

/** How a caller follows the tasks. */
export interface StatusEvents {
  /** Called once it is known which tasks there are, before any is polled. */
  onBegin?: (tasks: readonly NamedTask[]) => Promise<void>;
  /** Called for each task as its polls end. @param at its place among the tasks */
  onPolled?: (at: number) => void;
  /** Called for each task in the order in which they were named. */
  onEnd?: (report: TaskReport, at: number) => Promise<void>;
}

/**
 * Polls tasks together, each as often as it is named; where they are saved, once.
 * @returns a report on each; expected errors are in the reports
 * @throws UsageError where one file is to hold several, SaveFailedError if the destination is unusable
 */
export async function status(
  named: readonly NamedTask[],
  spec: StatusSpec,
  deps: UseCaseDeps,
  { onBegin = async () => {}, onPolled = () => {}, onEnd = async () => {} }: StatusEvents = {},
): Promise<TaskReport[]> {
  const { destination } = spec;
  const tasks = destination ? distinct(named) : named;
  requireFolderForSeveral(destination, tasks.length);
  if (destination) await prepareDestination(destination);
  await onBegin(tasks);
  const limited = withRateLimitedPolls(deps);
  return inOrder(
    tasks.map(async (task, at) => {
      const report = await statusOf(task, spec, limited);
      onPolled(at);
      return { report, at };
    }),
    async ({ report, at }) => {
      await onEnd(report, at);
      return report;
    },
  );
}

/** Reports a task's status. Never throws an expected error: it is in the report. */
async function statusOf(
  { id, record }: NamedTask,
  options: StatusSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const before = record ? reportOf(record) : reportOfId(id);
  // Without a task id there is nothing to poll; the report is what the ledger knows.
  if (record && before.taskId === null) return before;
  const taskId = before.taskId ?? id;
  if (record?.intent.work) return statusOfWork(record, options, deps);
  return reported(before, async () => {
    requireId(id);
    const taskDeps = await (record ? deps.depsFor(record.intent, taskId) : deps.current());
    if (!record) requirePolls(id, taskDeps);
    const acceptedAtMs = record && Date.parse(record.submittedAt);
    // What the ledger says of a failed task is history: the answer is what the service says now.
    const task = { taskId, acceptedAtMs, recovering: true };
    const report = await pollOrWait(task, { ...before, error: null }, options.wait, taskDeps);
    const { destination, wait } = options;
    if (report.state !== "completed") return report;
    // The service knows nothing of what was saved.
    if (destination === null) return before.state === "saved" ? { ...report, state: "saved" } : report;
    const once = wait ?? { timeoutMs: 0, schedule: null };
    return record
      ? resumeFound(record, { wait: once, destination }, deps)
      : saveUnknownId(id, destination, once, deps);
  });
}

/**
 * The status of a task at the user's own generator, from its file. Those of its requests that have an id are polled. With a
 * wait or a destination, the task is resumed.
 */
async function statusOfWork(
  record: Task,
  { wait, destination }: StatusSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  if (wait === null && destination === null) {
    const standing = await deps.ledger.asItStands(record);
    const before = reportOf(standing);
    if (!standing.requests.some(({ name }) => name === "accepted")) return before;
    return reported(before, async () =>
      reportOf(await polledRecord(standing, await deps.depsFor(record.intent, before.taskId ?? record.id))),
    );
  }
  return resumeFound(record, { wait: wait ?? { timeoutMs: null, schedule: null }, destination }, deps);
}

async function pollOrWait(
  task: Pick<AcceptedTask, "taskId" | "acceptedAtMs" | "recovering">,
  before: TaskReport,
  wait: WaitSettings | null,
  deps: TaskDeps,
): Promise<TaskReport> {
  const { taskId } = task;
  if (wait === null) {
    const state = await pollOnce(task, before.charged, deps);
    return state.status === "running" ? running(before) : endedReport(taskId, state, before);
  }
  const waited = await awaitTask(task, before, wait, deps);
  switch (waited.outcome) {
    case "ended":
      return endedReport(taskId, waited.task, before);
    case "refused":
      throw waited.error;
    case "interrupted":
      throw deps.signal.reason;
    case "timeout":
      return waited.lastFailure === null ? running(before) : leftUnfinished(taskId, waited, before, deps);
  }
}

function running(before: TaskReport): TaskReport {
  return { ...before, state: "accepted", charged: "yes" };
}

/** Polls a task once, without a retry. @throws if there is no usable answer, with what is known of the charge */
async function pollOnce(
  { taskId, acceptedAtMs }: Pick<AcceptedTask, "taskId" | "acceptedAtMs">,
  charged: Charged,
  deps: Pick<TaskDeps, "connection" | "signal" | "clock">,
): Promise<PolledState> {
  const reply = await pollTask(taskId, undefined, deps);
  deps.signal.throwIfAborted();
  if (reply.outcome === "state") return reply.task;
  if (reply.outcome === "refused" && isNotYetKnown(reply.error, ageOf(acceptedAtMs, deps)))
    return { status: "running", word: null };
  throw reply.outcome === "refused" ? reply.error : unseen(reply, charged, deps.connection.serviceUrl);
}
