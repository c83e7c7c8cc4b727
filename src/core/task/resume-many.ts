import { Slots } from "../../lib/concurrency.ts";
import { isResumable } from "../../task/lifecycle.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { RateLimitedPolls } from "../limits/rate-limited-polls.ts";
import { awaitTask, leftUnfinished } from "./finish.ts";
import { reportOf, type TaskReport } from "./report.ts";
import {
  claimedElsewhere,
  type ResumeDeps,
  type ResumeSpec,
  reported,
  resumeNamed,
  resumeRecord,
} from "./resume.ts";

/** Each task that is saved holds a claim and some open files. */
const SAVES_AT_ONCE = 16;

/** Every system has written a file to its disk by then, synced or not. */
const WRITTEN_BY_THEN_MS = 10 * 60_000;

/** A task that is asked for. */
export interface ResumeTarget {
  /** As the user named it; null if the ledger alone says that it is unfinished. */
  id: string | null;
  /** null if the ledger does not have it. */
  record: TaskRecord | null;
}

/**
 * Finishes many tasks concurrently: all are waited for together, and each is saved as soon as it is completed. Polls are
 * sent in the order of the tasks, so that each is polled once before any is polled again. A task is claimed only to save
 * it, so waiting for one takes no more than a timer.
 * @param onEnd called for each task as it ends
 * @returns a report on each; expected errors are in the reports
 */
export async function resumeMany(
  targets: readonly ResumeTarget[],
  options: ResumeSpec,
  deps: ResumeDeps,
  onEnd: (report: TaskReport, target: ResumeTarget) => Promise<void>,
): Promise<TaskReport[]> {
  const run = { options, deps: withRateLimitedPolls(deps), saves: new Slots(SAVES_AT_ONCE) };
  const ended = targets.map(async (target) => {
    const report = await resumeOne(target, run);
    await onEnd(report, target);
    return report;
  });
  // An unexpected error of one, such as of its output, is thrown once the others are saved.
  await Promise.allSettled(ended);
  return Promise.all(ended);
}

/** Each task once, however often, and by whatever beginning of its id, it was named. */
export function distinct<Target extends ResumeTarget>(targets: readonly Target[]): Target[] {
  const known = new Set<string | null>();
  return targets.filter(({ id, record }) => {
    const isNew = !known.has(record?.id ?? id);
    known.add(record?.id ?? id);
    return isNew;
  });
}

/** Tasks of one account share the pace of their polls. */
export function withRateLimitedPolls(deps: ResumeDeps): ResumeDeps {
  const paced = new Map<TaskDeps, TaskDeps>();
  return {
    ledger: deps.ledger,
    async depsFor(service, taskId) {
      const plain = await deps.depsFor(service, taskId);
      const { connection, clock, random } = plain;
      const polls = () => new RateLimitedPolls(connection.service, { clock, random });
      const known = paced.get(plain) ?? { ...plain, connection: { ...connection, service: polls() } };
      paced.set(plain, known);
      return known;
    },
  };
}

interface Run {
  options: ResumeSpec;
  deps: ResumeDeps;
  saves: Slots;
}

function resumeOne({ id, record }: ResumeTarget, run: Run): Promise<TaskReport> {
  const { options, deps, saves } = run;
  if (record && isResumable(record.state.name)) return resumeCharged(record, run);
  if (id !== null) return resumeNamed(id, record, options, deps);
  if (record) return saves.run(() => resumeRecord(record, options, deps));
  throw new TypeError("a task with neither an id nor a place in the ledger");
}

/** Waits for a task that the service has, and claims it once there is something to save or to record. */
async function resumeCharged(record: TaskRecord, { options, deps, saves }: Run): Promise<TaskReport> {
  const { state, intent } = record;
  if (!("acceptedAt" in state)) return reportOf(record);
  if (deps.ledger.isClaimed(record)) return claimedElsewhere(record);
  const report = reportOf(record);
  return reported(report, async () => {
    const { taskId } = state;
    const taskDeps = await deps.depsFor(intent.service, taskId);
    const acceptedAtMs = Date.parse(state.acceptedAt);
    if (Math.abs(taskDeps.clock.now() - acceptedAtMs) < WRITTEN_BY_THEN_MS) await deps.ledger.sync(record);
    const task = { taskId, acceptedAtMs, recovering: true };
    const waited = await awaitTask(task, report, options.wait, taskDeps);
    if (waited.outcome !== "completed" && waited.outcome !== "failed")
      return leftUnfinished(taskId, waited, report, taskDeps);
    return saves.run(async () => {
      if (taskDeps.signal.aborted)
        return leftUnfinished(taskId, { outcome: "interrupted" }, report, taskDeps);
      return resumeRecord(record, options, deps, waited);
    });
  });
}
