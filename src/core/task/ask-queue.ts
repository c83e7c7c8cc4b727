import { isoTime } from "../../lib/clock.ts";
import type { OwnedTask } from "../../store/owners.ts";
import type { TaskDeps } from "../deps.ts";
import { TaskWriter } from "./task-writer.ts";

const ENDED_BEFORE = "imggen ended before the request had reached the generator's queue";

/**
 * Finds out what came of a submit whose process ended before it had the reply, where the service is the queue on this
 * machine: the queue keeps a task under the id of its request. Where it has none, and its process is gone, none can come.
 * @returns whether that is known and written down; then the task is not this process's any longer
 */
export async function askQueue(
  owned: OwnedTask,
  { connection, ledger, clock }: Pick<TaskDeps, "connection" | "ledger" | "clock">,
): Promise<boolean> {
  const { id, state } = owned.record;
  if (state.name !== "intent" && state.name !== "unknown") return false;
  const taskId = await connection.generator?.taskOf(id).catch(() => undefined);
  // The process that has noted an unknown outcome may be alive, and its submit on the way.
  if (taskId === undefined || (taskId === null && state.name === "unknown")) return false;
  const writer = new TaskWriter(ledger, owned, () => {});
  const at = isoTime(clock.now());
  const isWritten = await writer.write(
    taskId === null ? { type: "not_sent", at, why: ENDED_BEFORE } : { type: "accepted", at, taskId },
  );
  if (!isWritten) return false;
  await (taskId === null ? writer.finish() : writer.release());
  return true;
}
