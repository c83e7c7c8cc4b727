import { readFile } from "node:fs/promises";
import type { Ledger } from "../../src/store/ledger.ts";
import type { OwnedTask } from "../../src/store/owners.ts";
import { readTaskLines } from "../../src/store/task-lines.ts";

/** Files a task under the finished ones, as its lines add up now. */
export async function finishTask(ledger: Ledger, task: OwnedTask): Promise<void> {
  const read = readTaskLines(task.record.id, await readFile(task.file.path, "utf8"));
  if (read.kind !== "task") throw new Error(`${task.file.path} is no task's file`);
  await ledger.finish(task, read.record);
}
