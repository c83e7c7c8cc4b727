import { mapInOrder } from "../../lib/concurrency.ts";
import { type ErrorFacts, UsageError } from "../../lib/error-types.ts";
import { isInSameScope } from "../../lib/processes.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { UnreadableEntry } from "../../store/ledger-files.ts";
import { STATES, type Task } from "../../task/task.ts";
import {
  type CancelReport,
  canBeCancelled,
  cancelClaimed,
  cancelClause,
  countCancelled,
} from "../engine/cancel-task.ts";
import { type ClaimedTask, claimTask } from "../engine/claimed-task.ts";
import { catchIntoReport, requireId } from "../engine/continue.ts";
import type { UseCaseDeps } from "../engine/deps.ts";
import { findNamed } from "../engine/named-tasks.ts";
import { createIdReport, taskFacts } from "../engine/report.ts";
import { ClaimedError, describeWorker } from "../errors.ts";
import type { WaitSettings } from "../polling/wait.ts";

export interface CancelSpec {
  ids: readonly string[];
  /** Options of the wait for paid requests in flight; null for no wait. */
  wait: WaitSettings | null;
}

/** Interval between reads of a task that another process works on, in milliseconds. */
const READ_INTERVAL_MS = 200;

/** Maximum wait for another process to cancel a task, in milliseconds. */
const MAX_CANCEL_MS = 10_000;

/**
 * Cancels tasks: waiting requests are not sent, free requests are abandoned, and accepted requests are cancelled if
 * their provider supports it. If another process has claimed a task, that process cancels the task.
 * @param onEnd called for each task, in the order of the ids
 * @returns one report per id, including expected errors; without an error, the task has ended or its images exist
 * @throws UsageError for an id prefix that fits several tasks
 */
export async function cancel(
  { ids, wait }: CancelSpec,
  deps: UseCaseDeps,
  onEnd: (report: CancelReport) => Promise<void> = async () => {},
): Promise<CancelReport[]> {
  const tasks = await findNamed(ids, deps.ledger);
  return mapInOrder(
    tasks.map(({ id, record }) => (record ? cancelOne(record, wait, deps) : unknownIdReport(id))),
    async (report) => {
      await onEnd(report);
      return report;
    },
  );
}

/** Unfinished tasks that can be cancelled, newest first. `served`: a server's tasks, which `cancel --all` ignores. */
export interface Cancellable {
  tasks: Task[];
  served: Task[];
  unreadable: UnreadableEntry[];
}

/** Lists the tasks of this machine that can be cancelled. Sends nothing. @throws StateFolderError */
export async function cancellable(ledger: Ledger): Promise<Cancellable> {
  const cancellable: Cancellable = { tasks: [], served: [], unreadable: [] };
  for (const entry of (await ledger.unfinished()).reverse()) {
    if (entry.kind !== "task") {
      cancellable.unreadable.push(entry);
      continue;
    }
    const task = await ledger.withLostReplies(entry.task);
    if (task.intent.taskId === null || !canBeCancelled(task)) continue;
    const isServed = (await ledger.livingServer(task)) !== null;
    cancellable[isServed ? "served" : "tasks"].push(task);
  }
  return cancellable;
}

async function unknownIdReport(id: string): Promise<CancelReport> {
  const report = await catchIntoReport(createIdReport(id), async () => {
    requireId(id);
    const hint = ["Nothing was sent.", phrase`To see the tasks of this machine: ${action("history")}`];
    throw new UsageError(`The ledger has no task ${JSON.stringify(id)}.`, { hint });
  });
  return { ...report, ...NONE_CANCELLED, requests: 1 };
}

const NONE_CANCELLED = { cancelled: 0 };

async function cancelOne(record: Task, wait: WaitSettings | null, deps: UseCaseDeps): Promise<CancelReport> {
  let counts = { ...NONE_CANCELLED, requests: record.requests.length };
  const initialReport = taskFacts(record);
  const report = await catchIntoReport(initialReport, async () => {
    if (!STATES[initialReport.state].isOpen) return initialReport;
    if (record.intent.taskId === null) throw serviceTaskError(record);
    const warnings: string[] = [];
    const { claimedTask, latest } = await claimLatest(record, wait, deps, (message) =>
      warnings.push(message),
    );
    if (claimedTask === null) {
      counts = countCancelled(record, latest);
      const facts = taskFacts(latest);
      return STATES[facts.state].isOpen
        ? { ...facts, error: await stillClaimedError(latest, counts, deps) }
        : facts;
    }
    const { cancelled, requests, ...cancelReport } = await cancelClaimed(claimedTask, wait, warnings, deps);
    counts = { cancelled, requests };
    return cancelReport;
  });
  return { ...report, ...counts };
}

/**
 * Claims a task. If another process has the claim, marks the task as cancelled and waits until the process ends it.
 * @returns `claimedTask: null` if the other process still has the claim or has ended the task; `latest`: as last read
 */
async function claimLatest(
  record: Task,
  wait: WaitSettings | null,
  { ledger, clock, signal }: UseCaseDeps,
  onWarning: (message: string) => void,
): Promise<{ claimedTask: ClaimedTask | null; latest: Task }> {
  const beginMs = clock.monotonicMs();
  const untilMs = beginMs + (wait === null ? 0 : (wait.timeoutMs ?? Number.POSITIVE_INFINITY));
  let isMarked = false;
  for (let latest = record; ; ) {
    // A server has no claim on its waiting tasks, so this process can end them. The server later reads their end.
    const claimedTask = await claimTask(latest, ledger, onWarning, latest.intent.server);
    if (typeof claimedTask !== "string") return { claimedTask, latest };
    const entry = await ledger.read(record.id);
    if (entry?.kind === "task") latest = entry.task;
    if (claimedTask === "ended" || !STATES[latest.state].isOpen) return { claimedTask: null, latest };
    const isCancellable = canBeCancelled(latest);
    if (isCancellable && !isMarked) await ledger.markCancelled(latest);
    isMarked ||= isCancellable;
    if (clock.monotonicMs() >= (isCancellable ? Math.max(untilMs, beginMs + MAX_CANCEL_MS) : untilMs))
      return { claimedTask: null, latest };
    await clock.sleep(READ_INTERVAL_MS, signal);
  }
}

/** Error for a task of the service, whose document has no operation to cancel. */
function serviceTaskError(record: Task): UsageError {
  const { taskId, charged } = taskFacts(record);
  const name = taskId === null ? `Request ${record.id}` : `Task ${taskId}`;
  const next =
    taskId === null
      ? phrase`To stop tracking it: ${action("dismiss", record.id)}`
      : phrase`It still runs. To save its images: ${action("resume", taskId)}`;
  return new UsageError(`${name} cannot be cancelled: the service has no operation for that.`, {
    hint: ["Nothing was sent.", next],
    charged,
  });
}

async function stillClaimedError(
  record: Task,
  counts: { cancelled: number; requests: number },
  { ledger }: UseCaseDeps,
): Promise<ClaimedError> {
  const worker = await ledger.findWorker(record);
  const { self } = ledger.processes;
  const { taskId, ledgerId, charged } = taskFacts(record);
  const facts: ErrorFacts = { charged };
  if (worker !== null && isInSameScope(worker, self) && worker.pid !== self.pid)
    facts.hint = `To stop that process first: kill -INT ${worker.pid}`;
  const name = `${describeWorker(worker, self)} is working on task ${taskId ?? ledgerId}`;
  if (canBeCancelled(record))
    return new ClaimedError(`${name}, and has not cancelled it yet. The cancel was requested.`, facts);
  const isSent = record.requests.some(({ state }) => state === "started");
  const why = isSent ? ": its request is in flight, and may be charged." : ".";
  return new ClaimedError(`${name}, so it ${cancelClause(counts)}${why}`, facts);
}
