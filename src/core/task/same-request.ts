import type { Ledger } from "../../store/ledger.ts";
import { type LedgerEntry, requireReadable } from "../../store/ledger-files.ts";
import { mayBeUnderWay } from "../../store/owners.ts";
import { isSameRequest } from "../../task/intent.ts";
import type { TaskState } from "../../task/lifecycle.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { identityOf, type TaskDeps } from "../deps.ts";

/**
 * A task for the very same request of the same account, and what may be done with it. Callers decide by this union alone,
 * and handle every kind.
 */
export type IdenticalTask = { record: TaskRecord } & (
  | { kind: "saved"; state: Extract<TaskState, { name: "saved" }> }
  /**
   * Sent or accepted, and unfinished: whoever claims it can take it further. `isPartlyUnknown`: some of its images are
   * made, and the reply to another of its requests was lost.
   */
  | { kind: "resumable"; isOld: boolean; isPartlyUnknown: boolean }
  /** A living process has it in hand at the user's own generator. */
  | { kind: "under_way" }
  /** A living process is submitting it, or waits to submit it again. */
  | { kind: "submitting" }
  /** A process that cannot be seen from here may be sending it: on another machine, or in a container. */
  | { kind: "out_of_sight" }
  /** Its reply was lost: only the user can decide. */
  | { kind: "unknown" }
  /** It has no image, and may have been charged. */
  | { kind: "failed" }
  /** The user has cancelled it, and the next process that takes it up ends it. */
  | { kind: "cancelled" }
  /** It was refused, never sent, or dismissed. */
  | { kind: "none" }
);

/** A request that is submitted again after this time is hardly meant to continue the earlier task. */
const OLD_MS = 7 * 24 * 60 * 60_000;

/**
 * Tells what may be done with an earlier task when its request comes again.
 * @param record the task as it stands: one whose reply can come no more is unknown
 */
export function classify(
  record: TaskRecord,
  ledger: Pick<Ledger, "isCancelled" | "isUnderWay" | "processes" | "clock">,
): IdenticalTask {
  const { state, submittedAt } = record;
  const nowMs = ledger.clock.now();
  const isOld = nowMs - Date.parse(submittedAt) > OLD_MS;
  const resumable = { kind: "resumable", record, isOld, isPartlyUnknown: isUnknown(record) } as const;
  if (ledger.isCancelled(record)) return { kind: "cancelled", record };
  if (mayBeUnderWay(record, ledger.processes.self, nowMs)) return { kind: "out_of_sight", record };
  switch (state.name) {
    case "saved":
      return { kind: "saved", record, state };
    case "waiting":
    case "started":
      return ledger.isUnderWay(record) ? { kind: "under_way", record } : resumable;
    case "accepted":
    case "completed":
      return resumable;
    case "intent":
      return { kind: ledger.isUnderWay(record) ? "submitting" : "unknown", record };
    case "rate_limited":
      return { kind: state.isOwnerGone ? "none" : "submitting", record };
    case "unknown":
    case "failed":
      return { kind: state.name, record };
    case "not_sent":
    case "refused":
    case "dismissed":
      return { kind: "none", record };
  }
}

type SearchDeps = Pick<TaskDeps, "connection" | "ledger">;

/**
 * The unfinished tasks for a request, newest first. They are few, however long the history.
 * @throws UnreadableRecordError
 */
export async function unfinishedFor(
  request: GenerationRequest,
  { connection, ledger }: SearchDeps,
): Promise<IdenticalTask[]> {
  const identity = identityOf(request, connection);
  const entries = (await ledger.unfinished()).reverse();
  for (const entry of entries) requireRead(entry);
  const records = entries.flatMap((entry) => (entry.kind === "task" ? [entry.record] : []));
  const same = records.filter(({ intent }) => isSameRequest(intent, identity));
  return Promise.all(same.map(async (record) => classify(await ledger.asItStands(record), ledger)));
}

/**
 * Every task for a request, newest first, each read only when it is asked for.
 * @param sinceMs as of `Ledger.sameRequest`
 * @throws UnreadableRecordError
 */
export async function* everyTaskFor(
  request: GenerationRequest,
  { connection, ledger }: SearchDeps,
  sinceMs?: number,
): AsyncGenerator<IdenticalTask> {
  for await (const record of ledger.sameRequest(identityOf(request, connection), sinceMs, requireRead))
    yield classify(await ledger.asItStands(record), ledger);
}

/**
 * What cannot be read may be the very task that is charged, so that nothing is submitted.
 * @throws UnreadableRecordError
 */
function requireRead(entry: LedgerEntry): void {
  requireReadable(
    entry,
    "and may be this request, charged already",
    ({ again }) => `To submit the request anyway: ${again}.`,
  );
}
