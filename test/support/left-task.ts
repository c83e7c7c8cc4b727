import { readdir } from "node:fs/promises";
import path from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import type { ProcessIdentity } from "../../src/lib/processes.ts";
import { Ledger } from "../../src/store/ledger.ts";
import { isId } from "../../src/store/ledger-name.ts";
import type { Intent } from "../../src/task/intent.ts";
import type { Line } from "../../src/task/line.ts";

/** A process that has ended, of the machine that commands in a test's own process run on. */
export const GONE: ProcessIdentity = { pid: 4_000_000, host: "in-process", scope: "in-process", started: "" };

/** The ledger of a home, as a process sees it that is not there any more. */
export function ledgerOf(home: string, self = GONE): Ledger {
  return new Ledger(path.join(home, "state"), systemClock, { self, isAlive: () => true });
}

/** Writes the file of a task that a process has begun, and left at these lines. @returns the ledger's id of it */
export async function leaveTask(
  home: string,
  intent: Intent,
  lines: readonly Line[] = [],
  self: ProcessIdentity = GONE,
): Promise<string> {
  const ledger = ledgerOf(home, self);
  const owned = await ledger.begin(intent);
  for (const line of lines) await owned.file.record(line);
  // Its ticket goes, because a process of another scope could not tell that it has ended.
  ledger.release(owned, false);
  return owned.task.id;
}

/** The ledger's ids of the tasks that are open. */
export async function openTasks(home: string): Promise<string[]> {
  const names = await readdir(path.join(home, "state", "tasks", "open"));
  return names.map((name) => path.basename(name, ".jsonl")).filter(isId);
}
