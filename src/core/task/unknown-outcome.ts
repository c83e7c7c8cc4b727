import { isDeepStrictEqual } from "node:util";
import { isoTime } from "../../lib/clock.ts";
import { UsageError } from "../../lib/error-types.ts";
import { isSameMachine } from "../../lib/processes.ts";
import { StateFolderError } from "../../store/errors.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { OwnedTask } from "../../store/owners.ts";
import type { Intent } from "../../task/intent.ts";
import type { TaskEvent } from "../../task/lifecycle.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { ClaimedError } from "../errors.ts";
import { ENDED_WHILE_BUSY, reportOf, type TaskReport } from "./report.ts";
import { TaskWriter } from "./task-writer.ts";

const ENDED_BEFORE = "imggen ended before the request had reached the generator's queue";

/**
 * Finds out what came of a submit whose process ended before it had the reply, where the service is the queue on this
 * machine: the queue keeps a task under the id of its request. Where it has none, none can come if it is the queue that was
 * to get the request, and the process is seen to be gone: one on another machine, or in a container, may only be held up.
 * @returns the task once that is written down; null if it is not known. It stays this process's
 */
export async function askQueue(
  owned: OwnedTask,
  { connection, ledger, clock }: Pick<TaskDeps, "connection" | "ledger" | "clock">,
): Promise<OwnedTask | null> {
  const { id, state, intent, owner } = owned.record;
  if (state.name !== "intent" && state.name !== "unknown") return null;
  const queue = connection.generator;
  const taskId = await queue?.taskOf(id).catch(() => undefined);
  if (taskId === undefined) return null;
  // The process that has noted an unknown outcome may be alive, and its submit on the way.
  const isGone = state.name === "intent" && owner !== null && isSameMachine(owner, ledger.processes.self);
  if (taskId === null && !(isGone && intent.queue === queue?.id)) return null;
  const writer = new TaskWriter(ledger, owned, () => {});
  const at = isoTime(clock.now());
  const isWritten = await writer.write(
    taskId === null ? { type: "not_sent", at, why: ENDED_BEFORE } : { type: "accepted", at, taskId },
  );
  return isWritten ? { ...owned, record: writer.record } : null;
}

/** Finds out as `askQueue` what came of each submit of unknown outcome, before it is planned what to submit. */
export async function askQueueOfAll(deps: TaskDeps, isWanted: (intent: Intent) => boolean): Promise<void> {
  const { connection, ledger } = deps;
  if (!connection.generator) return;
  for (const entry of await ledger.unfinished()) {
    if (entry.kind !== "task" || !isUnknown(entry.record)) continue;
    const { intent } = entry.record;
    if (!isDeepStrictEqual(intent.service, connection.identity) || !isWanted(intent)) continue;
    const owned = await ledger.claim(entry.record);
    if (typeof owned === "string") continue;
    const known = await askQueue(owned, deps);
    if (known?.record.state.name === "not_sent") await new TaskWriter(ledger, known, () => {}).finish();
    else await owned.release();
  }
}

interface DismissReason {
  why: string;
  /** The ledger id of the task that was submitted in its place. */
  replacement: string | null;
}

/**
 * Dismisses a request of unknown outcome at the user's request: it is no longer tracked.
 * @throws UsageError if its outcome is known; ClaimedError while another process is working on it; StateFolderError
 */
export async function dismissTask(
  record: TaskRecord,
  reason: DismissReason,
  ledger: Ledger,
): Promise<TaskReport> {
  const owned = isUnknown(record) ? await ledger.claim(record) : "finished";
  if (owned === "elsewhere")
    throw new ClaimedError(`Another process is working on ${record.id}.`, { charged: "unknown" });
  if (owned === "finished") throw outcomeIsKnown(record);
  if (!isUnknown(owned.record)) {
    await owned.release();
    throw outcomeIsKnown(owned.record);
  }
  return dismissOwned(owned, reason, ledger);
}

/** As `dismissTask`, for one that this process has claimed, and whose outcome is still unknown. */
export function dismissOwned(owned: OwnedTask, reason: DismissReason, ledger: Ledger): Promise<TaskReport> {
  return finishWith({ type: "dismissed", at: isoTime(ledger.clock.now()), ...reason }, owned, ledger);
}

/**
 * Closes a request whose process was killed during the wait after a 429: the service refused it, and nothing was sent
 * since. @throws StateFolderError
 */
export function recordNotSent(owned: OwnedTask, ledger: Ledger): Promise<TaskReport> {
  const at = isoTime(ledger.clock.now());
  return finishWith({ type: "not_sent", at, why: ENDED_WHILE_BUSY }, owned, ledger);
}

/** @throws StateFolderError if its last line cannot be recorded, because then every resume would find it again */
async function finishWith(event: TaskEvent, owned: OwnedTask, ledger: Ledger): Promise<TaskReport> {
  const writer = new TaskWriter(ledger, owned, () => {});
  const isWritten = await writer.write(event);
  await writer.finish();
  if (!isWritten) throw new StateFolderError(ledger.folder, "the disk refused a record");
  return reportOf(writer.record);
}

function outcomeIsKnown(record: TaskRecord): UsageError {
  const { taskId, state } = reportOf(record);
  const hint = "Only a request of unknown outcome can be dismissed. imggen history shows the status of each.";
  return new UsageError(
    `Task ${taskId ?? record.id} cannot be dismissed: its status is ${state.replace("_", " ")}.`,
    {
      hint,
    },
  );
}
