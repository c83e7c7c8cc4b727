import { TaskWriter } from "../core/task/task-writer.ts";
import { isoTime } from "../lib/clock.ts";
import type { ImggenError } from "../lib/error-types.ts";
import type { Ledger } from "../store/ledger.ts";
import type { Task } from "../task/task.ts";

/** Ends a task that no request was sent for. @returns null where one was, or another process has the task */
export async function refuseWaiting(
  record: Task,
  { type, key, message }: ImggenError,
  ledger: Ledger,
): Promise<Task | null> {
  const owned = await ledger.claim(record, record.intent.server);
  if (typeof owned === "string") return null;
  const writer = new TaskWriter(ledger, owned, () => {});
  const { requests } = owned.record;
  if (requests.some((request) => request.name !== "waiting" || request.tries > 0)) {
    await writer.release();
    return null;
  }
  const refusal = {
    type: "refused",
    at: isoTime(ledger.clock.now()),
    error: { type, key, message },
  } as const;
  for (const request of requests.keys()) await writer.write({ ...refusal, request });
  await writer.finish();
  return writer.record;
}
