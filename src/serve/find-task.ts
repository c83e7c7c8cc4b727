import type { TaskRecord } from "../task/record.ts";
import { isNewTaskId } from "../task/task-id.ts";
import type { Service } from "./service.ts";

/** A task of this server's ledger, as it was last known. @param taskId an untrusted text @returns null if there is none */
export async function findTask(
  taskId: string,
  { ledger, queue }: Pick<Service, "ledger" | "queue">,
): Promise<TaskRecord | null> {
  if (!isNewTaskId(taskId)) return null;
  return queue.entryOf(taskId)?.record ?? queue.ended(taskId) ?? ledger.findWhole(taskId);
}
