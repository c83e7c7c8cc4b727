import type { ProcessIdentity } from "../../lib/processes.ts";
import type { Ledger } from "../../store/ledger.ts";
import { mayBeCharged, type UnreadableEntry } from "../../store/ledger-files.ts";
import { type Destination, SANDBOX_SERVICE } from "../../task/intent.ts";
import { endsUnsent, getTaskId, isResumable, type Task } from "../../task/task.ts";
import {
  type ContinueSpec,
  catchIntoIdReport,
  continueNamed,
  continueTask,
  saveUnknownId,
} from "../engine/continue.ts";
import type { UseCaseDeps } from "../engine/deps.ts";
import { findNamed, type NamedTask } from "../engine/named-tasks.ts";
import type { TaskReport } from "../engine/report.ts";
import { requireFolderForSeveral } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";

/** A task that the user named, or an unfinished task of the ledger (`id: null`). */
export type ResumeTarget = NamedTask | { id: null; record: Task };

export interface ResumeTasksSpec extends Omit<ContinueSpec, "sends"> {
  /** Ids as typed by the user; empty for every unfinished task. */
  ids: readonly string[];
  /** Whether to finish only the sandbox's tasks if no id is given. */
  isSandbox: boolean;
  /** Destination of a task that is not in the ledger. @throws SaveFailedError if the working folder no longer exists */
  fallback: () => Destination;
  /** Destination of a server's task; absent for the server's output folder. @throws SaveFailedError */
  placeOfServed?: () => Destination;
}

export interface ResumeEvents {
  /** Called with all tasks before the first poll. */
  onBegin?: (targets: ResumeTargets) => Promise<void>;
  /** Called when a task ends. @param at index of the task */
  onEnd?: (report: TaskReport, at: number) => Promise<void>;
}

/** Reports on the tasks. `unreadable`: files that cannot be read and might be charged tasks. */
export interface ResumeReports extends Pick<ResumeTargets, "served"> {
  reports: TaskReport[];
  unreadable: UnreadableEntry[];
}

/**
 * Finishes tasks that were charged and not saved. Without ids, the reports omit tasks with nothing to finish.
 * @throws UsageError for an ambiguous id prefix, or if several tasks would be saved in one file; SaveFailedError if the
 *   destination is unusable. Other expected errors are in the reports.
 */
export async function resume(
  spec: ResumeTasksSpec,
  deps: UseCaseDeps,
  { onBegin = async () => {}, onEnd = async () => {} }: ResumeEvents = {},
): Promise<ResumeReports> {
  const { ids, isSandbox, destination } = spec;
  const resumable = await tasksToResume(ids, isSandbox, deps.ledger);
  const { targets, served, unreadable } = resumable;
  requireFolderForSeveral(destination, targets.length);
  if (destination) await prepareDestination(destination);
  await onBegin(resumable);
  const reports = await resumeMany(targets, spec, deps, onEnd);
  // If the cleanup fails, the next `resume` repeats it.
  if (ids.length === 0 && !deps.signal.aborted) await deps.ledger.sweep().catch(() => {});
  return { reports, served, unreadable: unreadable.filter(mayBeCharged) };
}

/**
 * Finishes tasks concurrently, and sends their polls in order. A task that only waits costs no more than a timer,
 * because it is claimed only to submit or save it.
 */
async function resumeMany(
  targets: readonly ResumeTarget[],
  options: ResumeTasksSpec,
  deps: UseCaseDeps,
  onEnd: (report: TaskReport, at: number) => Promise<void>,
): Promise<TaskReport[]> {
  const runs = targets.map(async (target, at) => {
    const report = await resumeOne(target, options, deps);
    if (isOmitted(report, target)) return [];
    await onEnd(report, at);
    return [report];
  });
  // An unexpected error of one task is thrown after the other tasks are saved.
  await Promise.allSettled(runs);
  return (await Promise.all(runs)).flat();
}

function resumeOne(target: ResumeTarget, options: ResumeTasksSpec, deps: UseCaseDeps): Promise<TaskReport> {
  const { id, record } = target;
  if (id !== null && record === null) {
    const { wait, destination, fallback } = options;
    return catchIntoIdReport(id, async () => saveUnknownId(id, destination ?? fallback(), wait, deps), deps);
  }
  if (record === null) throw new TypeError("neither an id nor a task");
  const { wait, keepsNewer } = options;
  const destination = resumeDestination(record, options);
  const spec = { wait, destination, sends: true, ...(keepsNewer !== undefined && { keepsNewer }) };
  return id === null ? continueTask(record, spec, deps) : continueNamed(record, spec, deps);
}

/** A server's task is not saved in the server's folder, because users would not find the image there. */
function resumeDestination(task: Task, { destination, placeOfServed }: ResumeTasksSpec): Destination | null {
  if (task.intent.server === undefined || task.state === "saved" || !placeOfServed) return destination;
  return destination ?? placeOfServed();
}

export interface ResumeTargets {
  targets: ResumeTarget[];
  /** Tasks of a running server, which finishes them itself. */
  served: { record: Task; by: ProcessIdentity }[];
  unreadable: UnreadableEntry[];
}

/** Without ids, returns every unfinished task, newest first; `isSandbox` selects only tasks of the sandbox. */
export async function tasksToResume(
  ids: readonly string[],
  isSandbox: boolean,
  ledger: Ledger,
): Promise<ResumeTargets> {
  if (ids.length > 0) {
    const namedTasks = await findNamed(ids, ledger);
    const targets = await Promise.all(namedTasks.map((each) => preferOpenRequest(each, ledger)));
    return { targets, served: [], unreadable: [] };
  }
  const entries = await ledger.unfinished();
  const records = entries.flatMap((entry) => (entry.kind === "task" ? [entry.task] : [])).reverse();
  const included = records.filter(({ intent }) => !isSandbox || intent.service.baseUrl === SANDBOX_SERVICE);
  const unreadable = entries.filter((entry) => entry.kind !== "task");
  const targets: ResumeTarget[] = [];
  const served: ResumeTargets["served"] = [];
  for (const record of included) {
    const by = await ledger.livingServer(record);
    if (by === null) targets.push({ id: null, record });
    else served.push({ record, by });
  }
  return { targets, served, unreadable };
}

/**
 * A server's task and the client's request for it have the same id. Returns the client's request if it is unfinished in
 * this ledger, so that the image is saved at the user's destination.
 */
async function preferOpenRequest(namedTask: NamedTask, ledger: Ledger): Promise<NamedTask> {
  const { id, record } = namedTask;
  const isNamedItself = record === null || record.id.startsWith(id);
  if (isNamedItself || (await ledger.livingServer(record)) === null) return namedTask;
  const taskId = getTaskId(record);
  const records = (await ledger.unfinished()).flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  const request = records.find((each) => each.id !== record.id && getTaskId(each) === taskId);
  return { id, record: request ?? record };
}

/** Whether a task had nothing to finish, and the user did not name it. */
function isOmitted({ charged, state }: TaskReport, target: ResumeTarget): boolean {
  if (target.id !== null || charged !== "no" || isResumable(state)) return false;
  const { state: before } = target.record;
  // A task that was never sent was only closed, so there is nothing to report.
  if (endsUnsent(target.record)) return true;
  // A free task that failed during the wait is reported, although it was not charged.
  return !isResumable(before);
}
