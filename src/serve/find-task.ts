import type { Task } from "../task/task.ts";
import { isNewTaskId } from "../task/task-id.ts";
import type { Service } from "./server-parts.ts";

/** A task of this server, as it was last known. @param taskId an untrusted text @returns null if there is none */
export async function findTask(
  taskId: string,
  { ledger, queue, name }: Pick<Service, "ledger" | "queue" | "name">,
): Promise<Task | null> {
  if (!isNewTaskId(taskId)) return null;
  const queued = queue.entryOf(taskId)?.record ?? queue.ended(taskId);
  if (queued !== undefined) return queued;
  const record = await ledger.findWhole(taskId);
  return record?.intent.server === name ? record : null;
}
