import { inOrder } from "../../lib/concurrency.ts";
import { type ErrorFacts, UsageError } from "../../lib/error-types.ts";
import { isSameMachine } from "../../lib/processes.ts";
import type { OwnedTask } from "../../store/owners.ts";
import { STATES } from "../../task/lifecycle.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { UseCaseDeps } from "../deps.ts";
import { ClaimedError } from "../errors.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { type CancelReport, cancelOwned } from "../task/cancel-task.ts";
import { factsOf, reportOfId } from "../task/report.ts";
import { reported } from "../task/resume.ts";
import { requireId } from "../task/save-again.ts";
import { describeWorker } from "../turns/describe-holder.ts";
import { distinct } from "./resume.ts";

export interface CancelSpec {
  /** Ids as the user gave them. */
  ids: readonly string[];
  /** How what is paid and on its way is waited for; null: it is left. */
  wait: WaitSettings | null;
}

/** How often a task is read again that another process has. */
const LOOK_EVERY_MS = 500;

/**
 * Cancels tasks: what waits is not sent, what runs at a free provider is given up, and a provider that can cancel is
 * asked to stop what it has accepted.
 * @param onEnd called for each task, in the order in which they were named
 * @returns a report on each; expected errors are in the reports. One without an error is over, or its images are made
 * @throws UsageError for an id that fits several tasks
 */
export async function cancel(
  { ids, wait }: CancelSpec,
  deps: UseCaseDeps,
  onEnd: (report: CancelReport) => Promise<void> = async () => {},
): Promise<CancelReport[]> {
  const records = await deps.ledger.findEach(ids);
  const tasks = distinct(ids.map((id) => ({ id, record: records.get(id) ?? null })));
  return inOrder(
    tasks.map(({ id, record }) => (record ? cancelOne(record, wait, deps) : unknownId(id))),
    async (report) => {
      await onEnd(report);
      return report;
    },
  );
}

async function unknownId(id: string): Promise<CancelReport> {
  const report = await reported(reportOfId(id), async () => {
    requireId(id);
    const hint = "Nothing was sent. To see the tasks of this machine: imggen history";
    throw new UsageError(`The ledger has no task ${JSON.stringify(id)}.`, { hint });
  });
  return { ...report, ...NOTHING, requests: 1 };
}

const NOTHING = { cancelled: 0 };

async function cancelOne(
  record: TaskRecord,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<CancelReport> {
  let counts = { ...NOTHING, requests: record.requests.length };
  const known = factsOf(record);
  const report = await reported(known, async () => {
    if (!STATES[known.state].isOpen) return known;
    if (record.intent.work === undefined) throw atService(record);
    const owned = await claimed(record, wait, deps);
    if (owned === "finished") return factsOf((await deps.ledger.find(record.id)) ?? record);
    if (owned === "elsewhere") throw await inOtherHands(record, deps);
    const { cancelled, requests, ...ended } = await cancelOwned(owned, wait, deps);
    counts = { cancelled, requests };
    return ended;
  });
  return { ...report, ...counts };
}

/** Takes a task over. @param wait how long a process that has it is waited for */
async function claimed(
  record: TaskRecord,
  wait: WaitSettings | null,
  { ledger, clock, signal }: UseCaseDeps,
): Promise<OwnedTask | "elsewhere" | "finished"> {
  const untilMs = clock.monotonicMs() + (wait === null ? 0 : (wait.timeoutMs ?? Number.POSITIVE_INFINITY));
  let known = record;
  for (;;) {
    const owned = await ledger.claim(known);
    if (owned !== "elsewhere" || clock.monotonicMs() >= untilMs) return owned;
    await clock.sleep(LOOK_EVERY_MS, signal);
    known = (await ledger.find(record.id)) ?? known;
  }
}

/** The service's document has no such operation. */
function atService(record: TaskRecord): UsageError {
  const { taskId, charged } = factsOf(record);
  const what = taskId === null ? `Request ${record.id}` : `Task ${taskId}`;
  const next =
    taskId === null
      ? `To stop tracking it: imggen resume ${record.id} --dismiss`
      : `It goes on; to save its images: imggen resume ${taskId}`;
  return new UsageError(`${what} cannot be cancelled: the service has no operation for that.`, {
    hint: `Nothing was sent. ${next}`,
    charged,
  });
}

async function inOtherHands(record: TaskRecord, { ledger }: UseCaseDeps): Promise<ClaimedError> {
  const worker = await ledger.workerOn(record);
  const { self } = ledger.processes;
  const { taskId, ledgerId, charged } = factsOf(record);
  const facts: ErrorFacts = { charged };
  if (worker !== null && isSameMachine(worker, self) && worker.pid !== self.pid)
    facts.hint = `To stop that process first: kill -INT ${worker.pid}`;
  const message = `${describeWorker(worker, self)} is working on task ${taskId ?? ledgerId}, so it was not cancelled.`;
  return new ClaimedError(message, facts);
}
