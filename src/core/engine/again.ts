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
 * Uses of an earlier task when its request comes again:
 * - `saved`: its images are files, or were.
 * - `resumable`: submitted, accepted or waiting, and unfinished: a process that takes it can continue it. `old`: after a week a
 *   request is hardly meant to continue it. `partly unknown`: the reply to another of its requests was lost.
 * - `alive`: a living process has it. `out of sight`: one may have it that cannot be asked, in a container or on another
 *   machine.
 * - `unknown`: its reply was lost, and the user decides.
 * - `failed`: it has no image, and may have been charged.
 * - `none`: refused, never sent, dismissed or cancelled.
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

/** An earlier task for the very same request of the same account. */
export interface EarlierTask {
  task: Task;
  state: EarlierState;
}

const OLD_MS = 7 * 24 * 60 * 60_000;

/** @param task as it stands: one whose reply can no longer come is unknown */
export function displayState(
  task: Task,
  ledger: Pick<Ledger, "isCancelled" | "isHeld" | "isUnreachable" | "clock">,
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
      if (ledger.isHeld(task)) return ledger.isUnreachable(task) ? "out of sight" : "alive";
      // `resume` closes a task that was never submitted.
      if (endsUnsent(task)) return "none";
      if (isUnknown(task)) return "partly unknown";
      return ledger.clock.now() - Date.parse(task.submittedAt) > OLD_MS ? "old" : "resumable";
    }
  }
}

type SearchDeps = Pick<TaskDeps, "connection" | "ledger">;

/** The answer to a request that comes again. */
export type Again =
  /** It is submitted. `warn`: an old task that is charged and unfinished. */
  | { kind: "none"; warn: Task | null }
  /** This process can continue it. */
  | { kind: "mine"; earlier: EarlierTask }
  /** Another process has it, or may. */
  | { kind: "theirs"; earlier: EarlierTask }
  | { kind: "saved"; earlier: EarlierTask }
  /** The user decides. */
  | { kind: "ask"; earlier: EarlierTask };

/**
 * The answer for a command that was run again: the newest unfinished task is continued; one of unknown outcome, or one that
 * cannot be seen, is the user's to decide. What a living process has, and what is saved, is submitted again.
 * @param isTried tasks that could not be taken
 * @throws UnreadableRecordError
 */
export async function findUnfinished(
  request: GenerationRequest,
  deps: SearchDeps,
  isTried: (task: Task) => boolean,
): Promise<Again> {
  const { connection, ledger } = deps;
  const identity = requestIdentity(request, connection);
  const entries = (await ledger.unfinished()).reverse();
  for (const entry of entries) requireRead(entry);
  const tasks = entries.flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  const same = tasks.filter((task) => isSameRequest(task.intent, identity) && !isTried(task));
  const all = await Promise.all(
    same.map(async (task) => earlierTask(await ledger.withLostReplies(task), ledger)),
  );
  const first = (...states: EarlierState[]) => all.find(({ state }) => states.includes(state));
  const mine = first("resumable");
  if (mine) return { kind: "mine", earlier: mine };
  const uncertain = first("unknown", "partly unknown");
  if (uncertain) return { kind: "ask", earlier: uncertain };
  const hidden = first("out of sight");
  if (hidden) return { kind: "theirs", earlier: hidden };
  return { kind: "none", warn: first("old")?.task ?? null };
}

/** Whether a task answers for its request under --reuse: it has its images or will have them; or perhaps it may have them. */
const REUSE: Readonly<Record<EarlierState, "yes" | "perhaps" | "no">> = {
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

const REUSE_KINDS: Readonly<Record<EarlierState, Exclude<Again["kind"], "none"> | null>> = {
  saved: "saved",
  resumable: "mine",
  old: "mine",
  alive: "theirs",
  "out of sight": "theirs",
  "partly unknown": "ask",
  unknown: "ask",
  failed: null,
  none: null,
};

/** The answer under --reuse: the newest task that has the images or will have them, else the newest that may. */
export async function findReusable(request: GenerationRequest, deps: SearchDeps): Promise<Again> {
  const identity = requestIdentity(request, deps.connection);
  const earlier = await newestAnswer(identity, deps.ledger, () => true);
  return earlier === null ? { kind: "none", warn: null } : repeatOf(earlier);
}

/** The answer that one task gives under --reuse. */
export function repeatOf(earlier: EarlierTask): Again {
  const kind = REUSE_KINDS[earlier.state];
  return kind === null ? { kind: "none", warn: null } : { kind, earlier };
}

async function newestAnswer(
  identity: RequestIdentity,
  ledger: Ledger,
  isWanted: (task: Task) => boolean,
): Promise<EarlierTask | null> {
  let perhaps: EarlierTask | null = null;
  for await (const task of ledger.findSameRequest(identity, undefined, requireRead)) {
    if (!isWanted(task)) continue;
    const earlier = earlierTask(await ledger.withLostReplies(task), ledger);
    const answer = REUSE[earlier.state];
    if (answer === "yes") return earlier;
    if (answer === "perhaps") perhaps ??= earlier;
  }
  return perhaps;
}

export function earlierTask(task: Task, ledger: Ledger): EarlierTask {
  return { task, state: displayState(task, ledger) };
}

/**
 * A record that cannot be read may be the charged task, so nothing is submitted.
 * @throws UnreadableRecordError
 */
function requireRead(entry: LedgerEntry): void {
  assertReadable(
    entry,
    "and may be this request, charged already",
    phrase`To submit the request anyway: ${option("again")}.`,
  );
}

/** Time limit for a process to look for other tasks and to record that it submits, in milliseconds. */
const LOOK_MS = 60_000;
const LOOK_AGAIN_MS = 5;

/**
 * Begins to submit a task that is withdrawn if another one answers for its request: one process at a time looks for such a
 * task and records that it submits, in whichever command.
 * @param start records that the task is submitted, and asks after that whether the turn was kept
 * @returns what `start` returns, or why it was not called
 */
export async function onlyOne(
  task: Task,
  deps: TaskDeps,
  start: (isKept: () => boolean) => Promise<string | ImggenError>,
): Promise<string | ImggenError> {
  const { ledger, signal } = deps;
  const turn = await takeTurn(task.intent, deps);
  if (turn === null) return interruptedError(signal, "no");
  try {
    // Those that were not submitted either need this turn before they are.
    const isSubmitted = ({ id, requests }: Task) =>
      id !== task.id && requests.some(({ attempts }) => attempts.length > 0);
    const other = await newestAnswer(task.intent, ledger, isSubmitted);
    if (other !== null) return new AnsweredError(other.task.id);
    return await start(() => turn.isStillHeld());
  } finally {
    turn.release();
  }
}

/** @returns null if the signal came first @throws StateFolderError */
async function takeTurn(identity: RequestIdentity, deps: TaskDeps): Promise<HeldTicket | null> {
  const what = `request-${requestTag(identity)}`;
  for (;;) {
    const turn = await deps.ledger.requests.take(what, LOOK_MS);
    if (!Array.isArray(turn)) return turn;
    if (!(await pause(LOOK_AGAIN_MS, deps))) return null;
  }
}
