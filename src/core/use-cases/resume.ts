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

/** A task that was named, or of which the ledger alone says that it is unfinished. */
export type ResumeTarget = NamedTask | { id: null; record: Task };

/** Tasks to finish, and their destination. */
export interface ResumeTasksSpec extends Omit<ContinueSpec, "sends"> {
  /** Ids as the user gave them; none: every unfinished task. */
  ids: readonly string[];
  /** Whether only the sandbox's tasks are meant, where no id is given. */
  isSandbox: boolean;
  /** Destination of a task that is not in the ledger. @throws SaveFailedError if that is the working folder, and gone */
  fallback: () => Destination;
  /** The destination of a server's task. Absent: the server's own folder. @throws as `fallback` */
  placeOfServed?: () => Destination;
}

/** Callbacks that follow the tasks. */
export interface ResumeEvents {
  /** Called once it is known which tasks there are, before any is polled. */
  onBegin?: (targets: ResumeTargets) => Promise<void>;
  /** Called for each task as it ends. @param at its place among the tasks */
  onEnd?: (report: TaskReport, at: number) => Promise<void>;
}

/** The reports of the tasks, and the files that cannot be read and may be charged tasks. */
export interface ResumeReports extends Pick<ResumeTargets, "served"> {
  reports: TaskReport[];
  unreadable: UnreadableEntry[];
}

/**
 * Finishes tasks that were charged and not saved. Where no id is given, tasks with nothing to finish are left out.
 * @throws UsageError for an id that fits several tasks, or where one file is to hold several; SaveFailedError if the
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
  // Housekeeping: the next resume tries again where this one cannot.
  if (ids.length === 0 && !deps.signal.aborted) await deps.ledger.sweep().catch(() => {});
  return { reports, served, unreadable: unreadable.filter(mayBeCharged) };
}

/**
 * Finishes many tasks concurrently: all are waited for together, and each is saved as soon as it is completed. Polls are
 * sent in the order of the tasks, so that each is polled once before any is polled again. A task is held only to submit or to
 * save it, so waiting for one takes no more than a timer.
 * @param onEnd called for each task as it ends
 * @returns a report on each that is not left out; expected errors are in the reports
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
  // An unexpected error of one, such as of its output, is thrown once the others are saved.
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

/** The place of one task. A task of a server is not saved in the server's folder, where users would not find the image. */
function resumeDestination(task: Task, { destination, placeOfServed }: ResumeTasksSpec): Destination | null {
  if (task.intent.server === undefined || task.state === "saved" || !placeOfServed) return destination;
  return destination ?? placeOfServed();
}

/** Tasks to resume, and the files in the ledger's folders that cannot be read as tasks. */
export interface ResumeTargets {
  targets: ResumeTarget[];
  /** Tasks that are left to their server, because it lives. */
  served: { record: Task; by: ProcessIdentity }[];
  unreadable: UnreadableEntry[];
}

/** The tasks with these ids; without any, every unfinished one, newest first; under `--sandbox`, only the sandbox's. */
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
 * A task of a living server has the same id as the request that it was made for. Where that is unfinished and in this ledger
 * too, it is the one to finish: its image goes where the user wants it.
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

/** Whether there was nothing to finish, and the user did not name the task: then it is left out of the result. */
function isOmitted({ charged, state }: TaskReport, target: ResumeTarget): boolean {
  if (target.id !== null || charged !== "no" || isResumable(state)) return false;
  const { state: before } = target.record;
  // A task that was never sent, and is not to be, is only closed.
  if (endsUnsent(target.record)) return true;
  // One that was waited for may have failed at no charge, as at a free generator.
  return !isResumable(before);
}
