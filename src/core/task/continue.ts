import { OutcomeUnknownError } from "../../api/api-errors.ts";
import { type Charged, ImggenError } from "../../lib/error-types.ts";
import { type OwnedTask, releaseIfPossible } from "../../store/owners.ts";
import { isSamePlace } from "../../task/intent.ts";
import { chargedOf, type TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { ofOneAccount, type TaskDeps } from "../deps.ts";
import { ClaimedError } from "../errors.ts";
import { requireFree } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { reportOf, type TaskReport } from "./report.ts";
import { type IdenticalTask, unfinishedFor } from "./same-request.ts";
import type { ResultSpec } from "./submit-and-finish.ts";
import { mentionedTaskId } from "./task-error.ts";

/**
 * Continues the newest task for the very same request of the same account that is charged, unfinished and in no living
 * process's hands: whoever runs a command again that was interrupted wants its image, not a second charge. If there is
 * only one of unknown outcome, or one that another machine may be submitting, the report says so. Submits nothing.
 * @returns null if the request is to be submitted
 * @throws UsageError or SaveFailedError if the images cannot be saved where they are wanted now; UnreadableRecordError
 */
export async function continueEarlier(
  request: GenerationRequest,
  spec: ResultSpec,
  deps: TaskDeps,
  warn: (message: string) => Promise<void>,
): Promise<TaskReport | null> {
  const tasks = await unfinishedFor(request, deps);
  const first = (answer: Answer) => tasks.find((task) => answersOf(task).includes(answer))?.record;
  for (const task of tasks) {
    if (!answersOf(task).includes("continue")) continue;
    const { record } = task;
    // In the task's own place, images that it has saved already are not in the way.
    if (!isSamePlace(spec.destination, record.intent.destination)) await requireUsable(spec);
    const report = await claimedAndContinued(record, spec, deps);
    if (report !== null) return { ...report, reused: true };
  }
  const unknown = first("unknown");
  if (unknown !== undefined) return { ...reportOf(unknown), error: sentBefore(unknown), reused: true };
  const hidden = first("out_of_sight");
  if (hidden !== undefined) return { ...reportOf(hidden), error: mayBeSubmitting(hidden), reused: true };
  const old = first("old");
  if (old !== undefined) await warn(unfinishedSince(old));
  return null;
}

type Answer = "continue" | "unknown" | "out_of_sight" | "old";

/** What a task means for its request, which is submitted again: it is continued, or something is said; none: neither. */
function answersOf(task: IdenticalTask): Answer[] {
  switch (task.kind) {
    case "resumable":
      return [task.isOld ? "old" : "continue", ...(task.isPartlyUnknown ? ["unknown" as const] : [])];
    case "unknown":
    case "out_of_sight":
      return [task.kind];
    case "saved":
    case "under_way":
    case "submitting":
    case "failed":
    case "cancelled":
    case "none":
      return [];
  }
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

async function requireUsable({ destination }: ResultSpec): Promise<void> {
  await requireFree(destination);
  await prepareDestination(destination);
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

/** The error where a process that cannot be seen may be submitting the request: in a container, or on another machine. */
function mayBeSubmitting(record: TaskRecord): ClaimedError {
  return new ClaimedError(
    ({ again }) =>
      `An identical request (${record.id}) may be under way on another machine or in a container. Nothing was sent now; ${again} submits a new one.`,
    { charged: chargedOf(record) },
  );
}

function unfinishedSince(record: TaskRecord): string {
  const { taskId, free } = reportOf(record);
  const [stands, next] =
    free === undefined
      ? ["charged and unfinished", "submitted and charged too"]
      : ["unfinished", "submitted too"];
  return `An identical request of ${record.submittedAt.slice(0, 10)} is ${stands} (task ${taskId}). This one is ${next}.`;
}
