import { isDeepStrictEqual } from "node:util";
import { isoTime } from "../../lib/clock.ts";
import { isSameMachine } from "../../lib/processes.ts";
import { type OwnedTask, releaseIfPossible } from "../../store/owners.ts";
import type { Intent } from "../../task/intent.ts";
import { isUnknown } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { TaskWriter } from "./task-writer.ts";

const ENDED_BEFORE = "imggen ended before the request had reached the generator's queue";

/**
 * Finds out what came of a submit whose process ended before it had the reply, where the service is the queue on this
 * machine: the queue keeps a task under the id of its request. Where it has none, none can come if it is the queue that was
 * to get the request, and the process is seen to be gone: one on another machine, or in a container, may only be held up.
 * @returns the task with what has been recorded of it; null if its outcome stays unknown. This process keeps its claim
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
    else await releaseIfPossible(owned);
  }
}
