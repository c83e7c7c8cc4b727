import type { Ledger, OwnedTask } from "../../src/store/ledger.ts";

/** Files a task under the finished ones, as its lines add up now. */
export async function finishTask(ledger: Ledger, owned: OwnedTask): Promise<void> {
  const entry = await ledger.read(owned.task.id);
  if (entry?.kind !== "task") throw new Error(`${owned.file.path} is no task's file`);
  await ledger.end(owned, entry.task);
}
