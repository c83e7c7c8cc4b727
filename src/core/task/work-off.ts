import type { ImggenError } from "../../lib/error-types.ts";
import { workOf } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { InheritedError, InterruptedError, interruptedError } from "../errors.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { awaitAccepted } from "./accepted.ts";
import { endAll } from "./record-end.ts";
import { factsOf, type TaskReport } from "./report.ts";
import { type RunSpec, runRequests } from "./requests.ts";
import { type AcceptedTask, saveMade } from "./save-task.ts";
import { errorOf } from "./task-error.ts";
import type { TaskWriter } from "./task-writer.ts";

/** Without a wait, how long a provider may ask to wait with Retry-After, in milliseconds. */
const PATIENCE_MS = 180_000;

/** A task at another provider than the hosted service, and where its images go. */
export type WorkTask = AcceptedTask & { writer: TaskWriter };

/**
 * Takes a task at a provider other than the hosted service as far as this process can: its requests are sent, and what
 * they have made is saved. Never throws an expected error: it is in the report.
 * @param options.wait null: until its provider has accepted it
 * @param kept what keeps any request from being sent, if anything does
 */
export async function workOff(
  task: WorkTask,
  { wait, onSent }: { wait: WaitSettings | null; onSent?: (() => void) | undefined },
  warnings: readonly string[],
  deps: TaskDeps,
  kept: ImggenError | null = null,
): Promise<TaskReport> {
  const { writer } = task;
  const timeoutMs = wait?.timeoutMs ?? null;
  const said = new Set<string>(otherPackage(task, deps));
  const onWarning = (message: string) => void said.add(message);
  const spec: RunSpec = { timeoutMs, patienceMs: timeoutMs ?? PATIENCE_MS, onSent, onWarning };
  const stop =
    kept ??
    (await runRequests(writer, spec, deps)) ??
    (wait === null ? null : await awaitAccepted(writer, wait, deps, onWarning));
  if (kept) await endAll(writer, { outcome: "not_sent", error: kept }, deps);
  const report = { ...factsOf(writer.record), warnings: [...warnings, ...said] };
  if (writer.record.state.name === "completed" && stop === null && wait !== null)
    return saveMade(task, report, deps);
  await writer.leave();
  const error = stop === null ? errorOf(writer.record) : ofTask(stop, writer, deps);
  return { ...report, isAwaited: wait !== null, error };
}

/** Why a task goes no further: that it cost nothing may be true of its last request alone. */
function ofTask(stop: ImggenError, { charged }: TaskWriter, { signal }: TaskDeps): ImggenError {
  if (stop.charged !== "no" || charged === "no") return stop;
  if (stop instanceof InterruptedError) return interruptedError(signal, charged);
  const { type, key, message } = stop;
  const hint = "What was made before is kept.";
  return new InheritedError(type, message, { key: key ?? undefined, charged, hint, cause: stop });
}

/** What is said where another version of a package continues a task than began it. */
function otherPackage({ writer }: WorkTask, { connection }: TaskDeps): string[] {
  const begun = workOf(writer.record).options.package;
  const now = connection.generator?.package;
  if (begun === undefined || now === undefined || begun === now) return [];
  return [`The task was begun with ${begun}, and is continued with ${now}.`];
}
