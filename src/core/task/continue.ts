import { OutcomeUnknownError } from "../../api/errors.ts";
import { type Charged, ImggenError } from "../../lib/error-types.ts";
import { type LedgerEntry, requireReadable } from "../../store/ledger-entry.ts";
import { mayBeUnderWay, type OwnedTask, releaseIfPossible } from "../../store/owners.ts";
import { isSamePlace, isSameRequest } from "../../task/intent.ts";
import { isResumable } from "../../task/lifecycle.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { identityOf, ofOneAccount, type TaskDeps } from "../deps.ts";
import { ClaimedError } from "../errors.ts";
import { requireFree } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { mentionedTaskId, reportOf, type TaskReport } from "./report.ts";
import type { ResultSpec } from "./submit-and-finish.ts";

/** A task that was submitted earlier is hardly meant by who submits its request again. */
const LONGEST_MS = 7 * 24 * 60 * 60_000;

/**
 * Continues the newest task for the very same request of the same account that is charged, unfinished and in no living
 * process's hands: whoever runs a command again that was interrupted wants its image, not a second charge. If there is
 * only one of unknown outcome, or one that another machine may be submitting, the report says so. Submits nothing.
 * @returns null if the request is to be submitted
 * @throws UsageError or SaveFailedError if the images cannot be saved where they are wanted now
 */
export async function continueEarlier(
  request: GenerationRequest,
  spec: ResultSpec,
  deps: TaskDeps,
  warn: (message: string) => Promise<void>,
): Promise<TaskReport | null> {
  const twins = (await unfinishedTwins(request, deps)).filter((record) => !deps.ledger.isCancelled(record));
  const charged = twins.filter(({ state }) => isResumable(state.name));
  const isRecent = ({ submittedAt }: TaskRecord) => deps.clock.now() - Date.parse(submittedAt) <= LONGEST_MS;
  for (const record of charged.filter(isRecent)) {
    // In the task's own place, images that it has saved already are not in the way.
    if (!isSamePlace(spec.destination, record.intent.destination)) await usable(spec, deps);
    const report = await claimedAndContinued(record, spec, deps);
    if (report !== null) return { ...report, reused: true };
  }
  const unknown = twins.find((record) => isUnknown(record) && !deps.ledger.isUnderWay(record));
  if (unknown !== undefined) return { ...reportOf(unknown), error: sentBefore(unknown), reused: true };
  const { self } = deps.ledger.processes;
  const away = twins.find((record) => isUnknown(record) && mayBeUnderWay(record, self, deps.clock.now()));
  if (away !== undefined) return { ...reportOf(away), error: mayBeSubmitting(away), reused: true };
  const old = charged.find((record) => !isRecent(record));
  if (old !== undefined) await warn(oldTwin(old));
  return null;
}

/** The unfinished tasks for a request of this account, newest first. They are few, however long the history. */
async function unfinishedTwins(
  request: GenerationRequest,
  { connection, ledger }: Pick<TaskDeps, "connection" | "ledger">,
): Promise<TaskRecord[]> {
  const wanted = identityOf(request, connection);
  const entries = (await ledger.unfinished()).reverse();
  for (const entry of entries) requireRead(entry);
  return entries.flatMap((entry) =>
    entry.kind === "task" && isSameRequest(entry.record.intent, wanted) ? [entry.record] : [],
  );
}

/**
 * What cannot be read may be the very task that is charged, so that nothing is submitted.
 * @throws UnreadableRecordError
 */
export function requireRead(entry: LedgerEntry): void {
  requireReadable(
    entry,
    "and may be this request, charged already",
    ({ again }) => `To submit the request anyway: ${again}.`,
  );
}

/** @returns null for a task that another process has, or has just finished: no reason not to submit one more like it */
async function claimedAndContinued(
  record: TaskRecord,
  spec: ResultSpec,
  deps: TaskDeps,
): Promise<TaskReport | null> {
  try {
    const owned = await deps.ledger.claim(record);
    return typeof owned === "string" ? null : await continued(owned, spec, deps);
  } catch (error) {
    // It is charged whatever keeps it from being continued.
    if (!(error instanceof ImggenError)) throw error;
    return { ...reportOf(record), error };
  }
}

async function usable({ destination }: ResultSpec, { ledger }: TaskDeps): Promise<void> {
  await requireFree(destination);
  await prepareDestination(destination, ledger.processes);
}

async function continued(
  owned: OwnedTask,
  { destination, wait }: ResultSpec,
  deps: TaskDeps,
): Promise<TaskReport> {
  const report = reportOf(owned.record);
  if (report.taskId !== null)
    deps.onProgress({ type: "continuing", taskId: report.taskId, charged: chargedSoFar(report) });
  if (wait === null) {
    await releaseIfPossible(owned);
    return { ...report, isAwaited: false };
  }
  // Not before: what is submitted needs none of it.
  const { finishOwned } = await import("./finish-owned.ts");
  return finishOwned(owned, { wait, destination }, ofOneAccount(deps));
}

/** The sandbox's credits are play money. */
function chargedSoFar({ charged, free }: TaskReport): Charged {
  return free === undefined ? charged : "no";
}

function sentBefore({ id, state }: TaskRecord): OutcomeUnknownError {
  return new OutcomeUnknownError(
    ({ again }) =>
      `An identical request (${id}) was sent before, and its reply was lost. Nothing was sent now; ${again} submits a new one.`,
    { mentionedTaskId: mentionedTaskId(state) },
  );
}

/** A process on another machine may live, or have been killed: a container, or this machine before it restarted. */
function mayBeSubmitting({ id }: TaskRecord): ClaimedError {
  return new ClaimedError(
    ({ again }) =>
      `An identical request (${id}) may be under way on another machine or in a container. Nothing was sent now; ${again} submits a new one.`,
    { charged: "unknown" },
  );
}

function oldTwin(record: TaskRecord): string {
  const { taskId, free } = reportOf(record);
  const [stands, next] =
    free === undefined
      ? ["charged and unfinished", "submitted and charged too"]
      : ["unfinished", "submitted too"];
  return `An identical request of ${record.submittedAt.slice(0, 10)} is ${stands} (task ${taskId}). This one is ${next}.`;
}
