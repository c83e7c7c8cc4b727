import path from "node:path";
import { onTestFinished } from "vitest";
import { Ledger, type OwnedTask } from "../../src/store/ledger.ts";
import type { Intent } from "../../src/task/intent.ts";
import type { Line } from "../../src/task/line.ts";
import { fakeClock } from "./fake-clock.ts";
import { finishTask } from "./finish-task.ts";
import { INTENT } from "./records.ts";
import { someProcesses } from "./some-processes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The lines after which a task is put away. */
const ENDS = new Set<Line["type"] | undefined>(["refused", "not_sent", "dismissed", "failed", "saved"]);

/** A ledger in a folder of its own, as several processes see it: 1 is alive, and those that are named. */
export async function ledgerWorld(...pids: number[]) {
  const state = await temporaryFolder();
  const clock = fakeClock();
  const processes = someProcesses(1, ...pids);
  const as = (pid: number) => new Ledger(state, clock, processes.as(pid));
  return { state, open: path.join(state, "tasks", "open"), clock, processes, as, ledger: as(1) };
}

/** Begins a task that comes so far; its file is closed after the test at the latest. */
export async function begunTask(
  ledger: Ledger,
  intent: Partial<Intent> = {},
  ...lines: Line[]
): Promise<OwnedTask> {
  const task = await ledger.begin({ ...INTENT, ...intent });
  onTestFinished(() => task.file.close());
  for (const line of lines) await task.file.record(line);
  return task;
}

/** As `begunTask`, of a task that is put away where that is its end, and else released. */
export async function leftTask(ledger: Ledger, intent: Partial<Intent>, ...lines: Line[]) {
  const task = await begunTask(ledger, intent, ...lines);
  await (ENDS.has(lines.at(-1)?.type) ? finishTask(ledger, task) : ledger.release(task, true));
  return task;
}
