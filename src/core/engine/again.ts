import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { HeldTicket } from "../../lib/tickets.ts";
import { option, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import { assertReadable, type LedgerEntry } from "../../store/ledger-files.ts";
import { requestTag } from "../../store/ledger-name.ts";
import { isSameRequest, type RequestIdentity } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { endsUnsent, isUnknown, type Task } from "../../task/task.ts";
import { AnsweredError } from "../errors.ts";
import { pause } from "../polling/wait.ts";
import { requestIdentity, type TaskDeps } from "./deps.ts";

/**
 * State of an earlier task with the same request as a new command:
 * - `saved`: the images were saved.
 * - `resumable`: the task is unfinished, and this process can continue it.
 * - `old`: as `resumable`, but older than a week, so that the user probably wants a new image.
 * - `partly unknown`: as `resumable`, but the reply to one of the task's requests was lost.
 * - `alive`: a living process has claimed the task.
 * - `out of sight`: a process in a container or on another machine has claimed the task.
 * - `unknown`: the reply was lost, so the user must decide.
 * - `failed`: the task has no image, and might have been charged.
 * - `none`: the task was refused, never sent, dismissed or cancelled.
 */
export type EarlierState =
  | "saved"
  | "resumable"
  | "old"
  | "partly unknown"
  | "alive"
  | "out of sight"
  | "unknown"
  | "failed"
  | "none";

export interface EarlierTask {
  task: Task;
  state: EarlierState;
}

const OLD_MS = 7 * 24 * 60 * 60_000;

/** @param task the task, with lost replies already marked as unknown */
export function getEarlierState(
  task: Task,
  ledger: Pick<Ledger, "isCancelled" | "isClaimed" | "isUnreachable" | "clock">,
): EarlierState {
  if (ledger.isCancelled(task)) return "none";
  switch (task.state) {
    case "saved":
    case "failed":
      return task.state;
    case "not_sent":
    case "refused":
    case "dismissed":
    case "cancelled":
      return "none";
    case "unknown":
      return "unknown";
    case "waiting":
    case "started":
    case "accepted":
    case "completed": {
      if (ledger.isClaimed(task)) return ledger.isUnreachable(task) ? "out of sight" : "alive";
      // `resume` would not submit such a task, but close it, so there is nothing to continue.
      if (endsUnsent(task)) return "none";
      if (isUnknown(task)) return "partly unknown";
      return ledger.clock.now() - Date.parse(task.submittedAt) > OLD_MS ? "old" : "resumable";
    }
  }
}

type SearchDeps = Pick<TaskDeps, "connection" | "ledger">;

export type RepeatDecision =
  /** Submit the request. `warn`: an old, unfinished task to warn about; null for none. */
  | { kind: "none"; warn: Task | null }
  | { kind: "continue"; earlier: EarlierTask }
  /** Another process has claimed this task, or might have claimed it. */
  | { kind: "claimed"; earlier: EarlierTask }
  | { kind: "saved"; earlier: EarlierTask }
  | { kind: "uncertain"; earlier: EarlierTask };

/**
 * Decides what a repeated command does: continues the newest unfinished task, lets the user decide if an outcome is
 * unknown or a process is out of sight, or submits the request again.
 * @param isTried whether to ignore a task, because an attempt to claim it failed
 * @throws UnreadableRecordError
 */
export async function findUnfinished(
  request: GenerationRequest,
  deps: SearchDeps,
  isTried: (task: Task) => boolean,
): Promise<RepeatDecision> {
  const { connection, ledger } = deps;
  const identity = requestIdentity(request, connection);
  const entries = (await ledger.unfinished()).reverse();
  for (const entry of entries) requireRead(entry);
  const tasks = entries.flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  const sameTasks = tasks.filter((task) => isSameRequest(task.intent, identity) && !isTried(task));
  const earlierTasks = await Promise.all(
    sameTasks.map(async (task) => toEarlierTask(await ledger.withLostReplies(task), ledger)),
  );
  const findInState = (...states: EarlierState[]) => earlierTasks.find(({ state }) => states.includes(state));
  const resumableTask = findInState("resumable");
  if (resumableTask) return { kind: "continue", earlier: resumableTask };
  const uncertainTask = findInState("unknown", "partly unknown");
  if (uncertainTask) return { kind: "uncertain", earlier: uncertainTask };
  const hiddenTask = findInState("out of sight");
  if (hiddenTask) return { kind: "claimed", earlier: hiddenTask };
  return { kind: "none", warn: findInState("old")?.task ?? null };
}

/** Whether --reuse uses a task instead of a new submit; "perhaps" if the task might have images. */
const REUSABILITY: Readonly<Record<EarlierState, "yes" | "perhaps" | "no">> = {
  saved: "yes",
  resumable: "yes",
  old: "yes",
  alive: "yes",
  "partly unknown": "perhaps",
  "out of sight": "perhaps",
  unknown: "perhaps",
  failed: "no",
  none: "no",
};

const REUSE_KINDS: Readonly<Record<EarlierState, Exclude<RepeatDecision["kind"], "none"> | null>> = {
  saved: "saved",
  resumable: "continue",
  old: "continue",
  alive: "claimed",
  "out of sight": "claimed",
  "partly unknown": "uncertain",
  unknown: "uncertain",
  failed: null,
  none: null,
};

/** Decides what --reuse does: uses the newest task that has or will have images, or else one that might have them. */
export async function findReusable(request: GenerationRequest, deps: SearchDeps): Promise<RepeatDecision> {
  const identity = requestIdentity(request, deps.connection);
  const earlier = await findNewest(identity, deps.ledger, () => true);
  return earlier === null ? { kind: "none", warn: null } : decideReuse(earlier);
}

export function decideReuse(earlier: EarlierTask): RepeatDecision {
  const kind = REUSE_KINDS[earlier.state];
  return kind === null ? { kind: "none", warn: null } : { kind, earlier };
}

async function findNewest(
  identity: RequestIdentity,
  ledger: Ledger,
  isIncluded: (task: Task) => boolean,
): Promise<EarlierTask | null> {
  let uncertainTask: EarlierTask | null = null;
  for await (const task of ledger.findSameRequest(identity, undefined, requireRead)) {
    if (!isIncluded(task)) continue;
    const earlier = toEarlierTask(await ledger.withLostReplies(task), ledger);
    const reusability = REUSABILITY[earlier.state];
    if (reusability === "yes") return earlier;
    if (reusability === "perhaps") uncertainTask ??= earlier;
  }
  return uncertainTask;
}

export function toEarlierTask(task: Task, ledger: Ledger): EarlierTask {
  return { task, state: getEarlierState(task, ledger) };
}

/** A record that cannot be read might be a charged task for the same request. @throws UnreadableRecordError */
function requireRead(entry: LedgerEntry): void {
  assertReadable(
    entry,
    "and may contain this request, already charged",
    phrase`To submit the request anyway: ${option("again")}.`,
  );
}

/** Lease for the search for tasks with the same request and for the record of the start, in milliseconds. */
const LOOKUP_LEASE_MS = 60_000;
const LOOKUP_RETRY_MS = 5;

/**
 * Starts a task unless another task has submitted the same request. Processes take turns, so that only one submits it.
 * @param start records the start, and checks afterwards whether this process still had its turn
 * @returns the result of `start`, or the error because of which `start` was not called
 */
export async function startUnlessSubmitted(
  task: Task,
  deps: TaskDeps,
  start: (hasTurn: () => boolean) => Promise<string | ImggenError>,
): Promise<string | ImggenError> {
  const { ledger, signal } = deps;
  const turn = await takeTurn(task.intent, deps);
  if (turn === null) return interruptedError(signal, "no");
  try {
    // A task without an attempt does not count, because it needs this turn before its submit.
    const isSubmitted = ({ id, requests }: Task) =>
      id !== task.id && requests.some(({ attempts }) => attempts.length > 0);
    const submittedTask = await findNewest(task.intent, ledger, isSubmitted);
    if (submittedTask !== null) return new AnsweredError(submittedTask.task.id);
    return await start(() => turn.isStillHeld());
  } finally {
    turn.release();
  }
}

/** @returns null if the signal aborts before the turn @throws StateFolderError */
async function takeTurn(identity: RequestIdentity, deps: TaskDeps): Promise<HeldTicket | null> {
  const ticketName = `request-${requestTag(identity)}`;
  for (;;) {
    const turn = await deps.ledger.requests.take(ticketName, LOOKUP_LEASE_MS);
    if (!Array.isArray(turn)) return turn;
    if (!(await pause(LOOKUP_RETRY_MS, deps))) return null;
  }
}
