import { ofOneAccount, type TaskDeps } from "../core/engine/deps.ts";
import { RunFileNames } from "../core/images/published-names.ts";
import type { Admission, AdmittedRequests } from "../core/limits/admission.ts";
import type { PollingSchedules } from "../core/polling/choose-schedule.ts";
import { finishOwned } from "../core/task/finish-owned.ts";
import type { OnTaskProgress } from "../core/engine/events.ts";
import type { TaskReport } from "../core/engine/report.ts";
import type { Task } from "../task/task.ts";
import type { ServeOptions } from "./serve-options.ts";

/** What tasks are run with. */
export interface RunDeps extends ServeOptions {
  admission: Admission;
  schedules: PollingSchedules;
}

/** How one task is run. */
export interface RunHow {
  /** Its requests are let through by this. */
  pass: AdmittedRequests;
  /** Aborts with an InterruptedError. */
  signal: AbortSignal;
  onProgress: OnTaskProgress;
}

const ONLY_FOR_ITS_OWN = 0o600;

/**
 * Takes a task as far as it goes now. What keeps a request from being sent ends no task of a server.
 * @returns "elsewhere" while another process has it, "finished" where one has finished it
 * @throws StateFolderError
 */
export async function runTask(
  record: Task,
  how: RunHow,
  deps: RunDeps,
): Promise<TaskReport | "elsewhere" | "finished"> {
  const owned = await deps.ledger.claim(record, deps.name);
  if (typeof owned === "string") return owned;
  const wait = { timeoutMs: null, schedule: null };
  return finishOwned(owned, { wait, destination: null }, ofOneAccount(taskDepsOf(how, deps)));
}

function taskDepsOf({ pass, signal, onProgress }: RunHow, deps: RunDeps): TaskDeps {
  const { ledger, schedules, clock, random, dailyCredits } = deps;
  return {
    connection: { ...deps.connection, provider: pass },
    ledger,
    schedules,
    published: new RunFileNames(clock.now()),
    clock,
    signal,
    onProgress,
    fileMode: ONLY_FOR_ITS_OWN,
    writeOut: () => Promise.reject(new TypeError("a server has no standard output")),
    random,
    dailyCredits,
    keeping: { graceMs: deps.graceMs },
  };
}
