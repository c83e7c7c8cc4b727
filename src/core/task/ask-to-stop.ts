import { isoTime } from "../../lib/clock.ts";
import { isPaid } from "../../task/intent.ts";
import { providerName, type TaskDeps } from "../deps.ts";
import { isOfAccount } from "../errors.ts";
import { fixedSchedule } from "../polling/fixed-schedules.ts";
import { waitForTask } from "../polling/wait.ts";
import { endEvent } from "./record-end.ts";
import { CANCELLED } from "./task-error.ts";
import type { TaskWriter } from "./task-writer.ts";
import { withinLimit } from "./time-limit.ts";

/** How long a provider may take to answer. */
const ANSWER_MS = 10_000;
/** How long a provider may take to stop what it has said that it stops. */
const STOP_MS = 10_000;
const POLL_EVERY_MS = 500;

/**
 * Asks a provider to stop working on a request that it has accepted, and records what it then says of it. It is never
 * taken as not charged without the provider's word.
 * @returns why it goes on, as a clause; null where it has ended
 */
export async function askToStop(writer: TaskWriter, request: number, deps: TaskDeps): Promise<string | null> {
  const state = writer.record.requests[request];
  if (state?.name !== "accepted") return null;
  const { provider } = deps.connection;
  const name = providerName(deps.connection);
  if (!provider.cancel) return `${name} has accepted it, and cannot cancel`;
  const { taskId } = state;
  const answer = await withinLimit(ANSWER_MS, deps, async (limited) => provider.cancel?.(taskId, limited));
  if (answer === null) return `${name} was asked to stop it, and did not answer`;
  if (!answer) return `${name} did not stop it`;
  return recordStop(writer, request, { taskId, name }, deps);
}

/** Polls what was stopped until it has ended: it may have been made at that very moment. */
async function recordStop(
  writer: TaskWriter,
  request: number,
  { taskId, name }: { taskId: string; name: string },
  deps: TaskDeps,
): Promise<string | null> {
  const schedule = fixedSchedule(POLL_EVERY_MS);
  const spec = { schedule, timeoutMs: STOP_MS, ageMs: Number.POSITIVE_INFINITY, pollAtOnce: true };
  const waited = await waitForTask(taskId, spec, deps);
  const at = isoTime(deps.clock.now());
  const free = isPaid(writer.record.intent) ? {} : { charged: "no" as const };
  const stopped = { errorCode: null, why: `${CANCELLED}.`, ...free };
  if (waited.outcome === "ended") {
    const { task } = waited;
    const ended = task.status === "failed" ? { ...stopped, ...task } : task;
    await writer.write(endEvent(ended, request, at));
    return null;
  }
  // A refusal of the account says nothing of the task.
  if (waited.outcome === "refused" && !isOfAccount(waited.error)) {
    await writer.write({ type: "failed", at, ...stopped, request });
    return null;
  }
  return `${name} was asked to stop it, and has not said yet that it has`;
}
