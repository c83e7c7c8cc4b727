import type { Charged } from "../lib/error-types.ts";
import { isJsonObject } from "../lib/json.ts";
import { freeAt, type Intent, isAtGenerator } from "./intent.ts";
import { type Answer, type CompletionTimes, type Line, NEVER_SEEN, type Usage } from "./line.ts";
import type { SavedFile } from "./saved-file.ts";

/** State of an open task, as users see it. */
export type OpenState = "waiting" | "running" | "accepted" | "made" | "unknown";

interface StateProperties {
  /** Charge at a paid provider. The service's document does not promise a refund for failed tasks. */
  charged: Charged;
  /** Whether the task is unfinished, with its file in `open/`. */
  isOpen: boolean;
  openState: OpenState | null;
}

/**
 * All states of a task and of its requests, by precedence: the first one of any request is the task's. Reports, batch
 * rows, history and JSON derive from this union.
 */
export const STATES = {
  /** In flight, or the submitting process ended at about that time. */
  started: { charged: "unknown", isOpen: true, openState: "running" },
  accepted: { charged: "yes", isOpen: true, openState: "accepted" },
  /** Not in flight: waits for its turn or for another attempt. */
  waiting: { charged: "no", isOpen: true, openState: "waiting" },
  /** The image exists, at result URLs or in the task's folder, but is not saved. */
  completed: { charged: "yes", isOpen: true, openState: "made" },
  /** The reply to the submit was lost or is unusable: the user decides. */
  unknown: { charged: "unknown", isOpen: true, openState: "unknown" },
  /** The user has stopped tracking it, with an unknown charge. */
  dismissed: { charged: "unknown", isOpen: false, openState: null },
  failed: { charged: "unknown", isOpen: false, openState: null },
  /** Cancelled by the user: not sent, abandoned, or stopped by the provider. */
  cancelled: { charged: "unknown", isOpen: false, openState: null },
  refused: { charged: "no", isOpen: false, openState: null },
  not_sent: { charged: "no", isOpen: false, openState: null },
  /** All images are complete files under their final names. Only for tasks, not requests. */
  saved: { charged: "yes", isOpen: false, openState: null },
} as const satisfies Record<string, StateProperties>;

export type TaskState = keyof typeof STATES;

const PRECEDENCE = Object.keys(STATES) as TaskState[];

/** One attempt to submit a request, with its outcome; null: none yet. */
export interface Attempt {
  name: string;
  at: string;
  answer: Answer | null;
  /** The provider's id of the job, and the time of acceptance. */
  accepted: { id: string; at: string } | null;
  /** The reason if the provider's last report was that it has neither the job nor its images. */
  goneReason: string | null;
  /** Whether the provider ever reported success: then it cannot count as free. */
  wasMade: boolean;
  /** Whether its outcome was ever recorded as unknown; a late answer may correct that. */
  wasLost: boolean;
}

/**
 * One request of a task: a function of its attempts and their outcomes, independent of the order and part of the
 * lines.
 */
export interface RequestState {
  state: Exclude<TaskState, "saved">;
  attempts: readonly Attempt[];
  /** The attempt that decides the state; null: no attempt. */
  attempt: Attempt | null;
  /** The reason that it will not be sent; null: not decided. */
  notSent: string | null;
  isDismissed: boolean;
  /** Number of attempts that may have reached the provider. */
  tries: number;
}

/** A task, built from the lines of its parts. */
export interface Task {
  /** The ledger's id; sorts by time. */
  id: string;
  intent: Intent;
  submittedAt: string;
  /** Mark of the process that may work on it; null: released. */
  holder: string | null;
  /** Mark of the writer of its last part. */
  mark: string;
  /** Number of parts: one, and one more for each takeover. */
  parts: number;
  /** The claim of its batch row; null: none. */
  claim: string | null;
  /** Whether it is withdrawn if another task answers for its request. */
  isOnce: boolean;
  state: TaskState;
  requests: readonly RequestState[];
  /** The saved images; null: not saved yet. */
  files: readonly (SavedFile | null)[];
  isSaved: boolean;
  dismissal: { why: string; replacement: string | null } | null;
}

/** A task with only its first line. */
export function begunTask(id: string, line: Line<"intent">): Task {
  const { type: _type, v: _v, id: _id, at, holder, attempt, claim, once, ...intent } = line;
  const first = { attempts: [], notSent: null, isDismissed: false };
  const task: Task = {
    id,
    intent,
    submittedAt: at,
    holder,
    mark: holder,
    parts: 1,
    claim: claim ?? null,
    isOnce: once === true,
    state: "waiting",
    requests: Array.from({ length: intent.requests }, () => withRequestState(first, intent.isPaid)),
    files: [],
    isSaved: false,
    dismissal: null,
  };
  return attempt === undefined ? task : withLine(task, { type: "started", at, request: 0, attempt });
}

export function withLine(task: Task, line: Line): Task {
  switch (line.type) {
    case "intent":
      return task;
    case "taken":
      return { ...task, holder: line.holder, mark: line.holder };
    case "released":
      return { ...task, holder: null };
    case "partly_saved":
    case "saved":
      return withTaskState({
        ...task,
        files: filesAfter(task.files, line),
        isSaved: task.isSaved || line.type === "saved",
      });
    case "dismissed": {
      const { why, replacement } = line;
      return withTaskState({ ...withRequests(task, dismissRequest), dismissal: { why, replacement } });
    }
    default: {
      const isAbout = (at: number) => at === line.request;
      return withTaskState(withRequests(task, (each, at) => (isAbout(at) ? requestAfter(each, line) : each)));
    }
  }
}

type BareRequest = Pick<RequestState, "attempts" | "notSent" | "isDismissed">;

function withRequests(task: Task, next: (each: RequestState, at: number) => BareRequest): Task {
  const { isPaid } = task.intent;
  return { ...task, requests: task.requests.map((each, at) => withRequestState(next(each, at), isPaid)) };
}

/** Dismisses a request with a lost outcome; accepted and completed ones stay. */
function dismissRequest(each: RequestState, _at: number): BareRequest {
  const { state, attempts } = each;
  // A late answer that a dismissed attempt was rejected must not cause another attempt.
  const isLost =
    state === "waiting" && attempts.some(({ wasLost, answer }) => wasLost && answer?.type === "waiting");
  return state === "unknown" || state === "started" || isLost ? { ...each, isDismissed: true } : each;
}

type RequestLine = Answer | Line<"started" | "not_sent" | "gone">;

function requestAfter(each: RequestState, line: RequestLine): BareRequest {
  if (line.type === "not_sent") return { ...each, notSent: line.why };
  if (line.type === "gone") {
    const { why: goneReason, attempt } = line;
    return {
      ...each,
      attempts: each.attempts.map((one) => (one.name === attempt ? { ...one, goneReason } : one)),
    };
  }
  const isKnown = each.attempts.some(({ name }) => name === line.attempt);
  const attempts = isKnown ? each.attempts : [...each.attempts, newAttempt(line)];
  if (line.type === "started") return { ...each, attempts };
  const answered = attempts.map((attempt) =>
    attempt.name === line.attempt ? answerTo(attempt, line) : attempt,
  );
  return { ...each, attempts: answered };
}

function newAttempt({ attempt: name, at }: RequestLine & { attempt: string }): Attempt {
  return { name, at, answer: null, accepted: null, goneReason: null, wasMade: false, wasLost: false };
}

/** Before acceptance, the answer with the higher rank counts, in any order of reading. */
const RANKS: Readonly<Record<Answer["type"], number>> = {
  unknown: 1,
  waiting: 2,
  refused: 3,
  failed: 4,
  accepted: 5,
  completed: 6,
};

function answerTo(attempt: Attempt, line: Answer): Attempt {
  const { answer, wasMade } = attempt;
  const accepted =
    line.type === "accepted" ? (attempt.accepted ?? { id: line.taskId, at: line.at }) : attempt.accepted;
  const isCompleted = wasMade || line.type === "completed";
  const wasLost = attempt.wasLost || line.type === "unknown";
  const next = { ...attempt, accepted, goneReason: null, wasMade: isCompleted, wasLost };
  return answer === null || replaces(line, answer)
    ? { ...next, answer: withoutFalseFree(line, attempt) }
    : next;
}

function replaces(line: Answer, answer: Answer): boolean {
  switch (answer.type) {
    case "completed":
      // A saved reply may turn out not to be an image. A lost reply is the claim of a process that did not wait for
      // it.
      return (
        line.type === "completed" || line.type === "failed" || (isUnusable(line) && answer.urls.length === 0)
      );
    case "failed":
      return RANKS[line.type] >= RANKS.failed;
    case "accepted":
      return line.type === "completed" || line.type === "failed" || isUnusable(line);
    default:
      return RANKS[line.type] >= RANKS[answer.type];
  }
}

function isUnusable(line: Answer): boolean {
  return line.type === "unknown" && line.unusable === true;
}

/** The answer without `charged: "no"` if that may be wrong, after an earlier success or failure. */
function withoutFalseFree(line: Answer, { answer, wasMade }: Attempt): Answer {
  if (line.type !== "failed" || line.charged === undefined) return line;
  const mayBeFree = !wasMade && (answer?.type !== "failed" || answer.charged === "no");
  if (mayBeFree) return line;
  const { charged: _, ...paid } = line;
  return paid;
}

/** Derives the state of a request. */
function withRequestState(bare: BareRequest, isPaid: boolean): RequestState {
  const { attempts, notSent, isDismissed } = bare;
  const is = (type: Answer["type"]) => (attempt: Attempt) => attempt.answer?.type === type;
  const findAnswer = (type: Answer["type"]) => attempts.findLast(is(type)) ?? null;
  const open = attempts.findLast(({ answer }) => answer === null) ?? null;
  const lostAttempts = attempts.filter((attempt) => attempt.answer?.type === "unknown");
  const tries = lostAttempts.length + attempts.filter(({ answer }) => answer === null).length;
  const withState = (state: RequestState["state"], attempt: Attempt | null): RequestState => ({
    attempts,
    notSent,
    isDismissed,
    tries,
    state,
    attempt,
  });
  for (const type of ["completed", "accepted"] as const) {
    const attempt = findAnswer(type);
    if (attempt !== null) return withState(type, attempt);
  }
  if (isDismissed) return withState("dismissed", open ?? lostAttempts.at(-1) ?? null);
  if (open !== null) return withState("started", open);
  const failed = findAnswer("failed");
  if (failed !== null) return withState(wasCancelled(failed) ? "cancelled" : "failed", failed);
  // A free request is sent again after a loss.
  const unknown = lostAttempts.findLast(({ wasMade }) => isPaid || wasMade) ?? null;
  if (unknown !== null) return withState("unknown", unknown);
  const refused = findAnswer("refused");
  if (refused !== null) return withState("refused", refused);
  const last = attempts.at(-1) ?? null;
  if (notSent === null) return withState("waiting", last);
  return withState(notSent === CANCELLED ? "cancelled" : "not_sent", last);
}

function wasCancelled({ answer }: Attempt): boolean {
  return answer?.type === "failed" && answer.why === `${CANCELLED}.`;
}

/** Derives the state of a task from its requests and files. */
function withTaskState(task: Task): Task {
  const { requests, isSaved } = task;
  const state = PRECEDENCE.find((each) => requests.some((request) => request.state === each)) ?? "waiting";
  const isWhole =
    isSaved && !isPending(state) && state !== "unknown" && requests.some(isMade) && !isUnsaved(task);
  return { ...task, state: isWhole ? "saved" : state };
}

function isMade({ state }: RequestState): boolean {
  return state === "completed" || state === "failed";
}

/** Whether further replies are expected in this state. */
function isPending(state: TaskState): boolean {
  return state === "started" || state === "accepted" || state === "waiting";
}

/** The saved images after one more line. The final `saved` line has no gaps. */
function filesAfter(
  before: readonly (SavedFile | null)[],
  { type, files }: Line<"partly_saved" | "saved">,
): readonly (SavedFile | null)[] {
  return type === "saved" && files.length > 0 ? files : mergeFiles(before, files);
}

function mergeFiles(
  before: readonly (SavedFile | null)[],
  now: readonly (SavedFile | null)[],
): (SavedFile | null)[] {
  const longer = before.length > now.length ? before : now;
  return longer.map((_, at) => now[at] ?? before[at] ?? null);
}

/** Id for users, names and messages: the provider's or imggen's own; null if there is none yet. */
export function getTaskId({ intent, requests }: Pick<Task, "intent" | "requests">): string | null {
  return intent.taskId ?? requests[0]?.attempts.find(({ accepted }) => accepted)?.accepted?.id ?? null;
}

/** As `getTaskId`, or the ledger's id if there is none yet. */
export function displayId(task: Pick<Task, "id" | "intent" | "requests">): string {
  return getTaskId(task) ?? task.id;
}

/** The deciding answer of a request, if it has this type. */
export function getAnswer<Type extends Answer["type"]>(
  { attempt }: Pick<RequestState, "attempt">,
  type: Type,
): Line<Type> | null {
  const answer = attempt?.answer;
  // The compiler cannot match types and lines.
  return answer?.type === type ? (answer as unknown as Line<Type>) : null;
}

/** The request that decides the task's state. */
export function decidingRequest({ requests }: Pick<Task, "requests">): RequestState {
  const state = PRECEDENCE.find((each) => requests.some((request) => request.state === each));
  return requests.find((request) => request.state === state) as RequestState;
}

/** The lines of a task's outcome, after its intent: a record that outlives its file. */
export function summaryLines(task: Task): Line[] {
  const { requests, files, isSaved, dismissal, submittedAt: at } = task;
  const isDismissed = (line: Line) => line.type === "started" && requests[line.request]?.isDismissed === true;
  const lines = requests.flatMap(requestLines(at));
  // Only open and lost requests are dismissed, not later ones.
  const summary = lines.filter(isDismissed);
  if (dismissal !== null) summary.push({ type: "dismissed", at, ...dismissal });
  summary.push(...lines.filter((line) => !isDismissed(line)));
  if (files.length > 0) summary.push({ type: "partly_saved", at, files: [...files] });
  if (isSaved) summary.push({ type: "saved", at, files: [] });
  return summary;
}

function requestLines(at: string) {
  return ({ attempts, notSent }: RequestState, request: number): Line[] => {
    const lines = attempts.flatMap(({ name, at, answer, accepted, wasMade }): Line[] => {
      const fields = { at, request, attempt: name };
      const completed: Line = { type: "completed", ...fields, urls: [], ...NEVER_SEEN };
      return [
        { type: "started", ...fields },
        ...(accepted === null
          ? []
          : [{ type: "accepted", ...fields, at: accepted.at, taskId: accepted.id } as const]),
        ...(wasMade && answer?.type !== "completed" ? [completed] : []),
        ...(answer === null || answer.type === "accepted" ? [] : [answer]),
      ];
    });
    return notSent === null ? lines : [...lines, { type: "not_sent", at, why: notSent, request }];
  };
}

/** Observed completion of a task's last image; null without an image. */
export function getCompletion({
  requests,
}: Pick<Task, "requests">): (CompletionTimes & { at: string }) | null {
  const completed = requests.flatMap((request) => getAnswer(request, "completed") ?? []);
  if (completed.length === 0) return null;
  const last = completed.reduce((a, b) => (a.at > b.at ? a : b));
  const { seenMs, pendingMs } = requests.length === 1 ? last : NEVER_SEEN;
  return { at: last.at, seenMs, pendingMs };
}

/** The images saved so far. */
export function getSavedFiles({ files }: Pick<Task, "files">): SavedFile[] {
  return files.filter((file) => file !== null);
}

/**
 * Whether a task was charged: never "yes" for a free or unsent one, never "no" after a paid provider's success. Only
 * source of this fact.
 */
export function getCharged({ intent, requests }: Pick<Task, "intent" | "requests">): Charged {
  if (!intent.isPaid) return "no";
  const each = requests.map(chargedAt);
  return each.find((charged) => charged === "yes") ?? each.find((charged) => charged === "unknown") ?? "no";
}

function chargedAt({ state, attempts }: RequestState): Charged {
  const hasEnded = state === "failed" || state === "cancelled";
  return hasEnded && attempts.every(wasFree) ? "no" : STATES[state].charged;
}

/** Whether an attempt certainly cost nothing. */
function wasFree({ answer }: Attempt): boolean {
  if (answer?.type === "failed") return answer.charged === "no";
  return answer?.type === "waiting" || answer?.type === "refused";
}

/** The possible cost of a task in credits, without refused requests. */
export function spentCredits(task: Pick<Task, "intent" | "requests">): number | null {
  const { intent, requests } = task;
  if (freeAt(intent) === "sandbox") return 0;
  if (intent.credits === null || !mayBeCharged(task)) return intent.credits;
  const each = requests.filter((request) => chargedAt(request) !== "no" || request.state === "waiting");
  // Division and multiplication may not return the same fraction.
  return each.length === requests.length ? intent.credits : (intent.credits / requests.length) * each.length;
}

/** The cost of requests still to be sent, in credits; null if there is no price. */
export function unsentCredits({ intent, requests }: Pick<Task, "intent" | "requests">): number | null {
  const waiting = requests.filter(({ state }) => state === "waiting").length;
  if (waiting === 0) return 0;
  return intent.credits === null ? null : (intent.credits / requests.length) * waiting;
}

/** Whether a task ends without a submit: `resume` closes it, and its request begins a new task. */
export function endsUnsent({ state, intent }: Pick<Task, "state" | "intent">): boolean {
  return state === "waiting" && !isAtGenerator(intent);
}

/** Whether a task was, may have been or may still be charged: all except refused and unsent ones. */
export function mayBeCharged(task: Pick<Task, "intent" | "requests">): boolean {
  const { intent } = task;
  const maySend =
    intent.isPaid && isAtGenerator(intent) && task.requests.some(({ state }) => state === "waiting");
  return getCharged(task) !== "no" || maySend;
}

/** Whether an image exists that is not saved: the first of each request, then further ones. */
export function isUnsaved({
  files,
  requests,
  isSaved,
}: Pick<Task, "files" | "requests" | "isSaved">): boolean {
  // A late reply may have come after the other images were saved.
  if (isSaved) return requests.some(({ state }, at) => state === "completed" && files[at] === null);
  const count = Math.max(files.length, requests.length);
  const isToCome = (at: number) => (requests[at]?.state ?? "completed") === "completed";
  return Array.from({ length: count }, (_, at) => at).some((at) => !files[at] && isToCome(at));
}

/** The reason recorded for a request cancelled by the user. */
export const CANCELLED = "it was cancelled";

/** Refused and unsent tasks are not in the history, except cancelled ones. */
export function isInHistory(task: Task): boolean {
  if (!isAtGenerator(task.intent)) return task.state === "cancelled" || mayBeCharged(task);
  return task.state !== "not_sent" && task.state !== "refused";
}

/** Whether the outcome is unknown, so that the user decides. */
export function isUnknown({ state, requests }: Pick<Task, "state" | "requests">): boolean {
  if (state === "unknown") return true;
  return state === "completed" && requests.some((request) => request.state === "unknown");
}

/** Whether the provider has neither the job nor the images of an open request. */
export function isGone({ state, attempt }: RequestState): boolean {
  return (state === "accepted" || state === "completed") && attempt?.goneReason != null;
}

/** Whether the provider has neither the jobs nor the images of any open request. */
export function isAllGone({ requests, files }: Pick<Task, "requests" | "files">): boolean {
  const open = requests.filter(
    (request, at) =>
      STATES[request.state].isOpen && (isGone(request) || request.state !== "completed" || !files[at]),
  );
  return open.length > 0 && open.every(isGone);
}

/** State of an open task as users see it; null: ended. */
export function openState(state: TaskState): OpenState | null {
  return STATES[state].openState;
}

/** As `openState`; a task with nothing left to save but unknown requests is `unknown`. */
export function openTaskState(task: Task): OpenState | null {
  return isUnknown(task) && !isUnsaved(task) ? "unknown" : openState(task.state);
}

/** In the order of a task's life. */
export const OPEN_STATES: readonly OpenState[] = ["waiting", "running", "accepted", "made", "unknown"];

/** Whether `resume` can continue a task in this state. */
export function isResumable(state: TaskState): boolean {
  return STATES[state].isOpen && state !== "unknown";
}

/** Cost and tokens of all requests: numbers are summed; of other values the first is kept. */
export function totalUsage({ requests }: Pick<Task, "requests">): Usage | null {
  const usages = requests.map((request) => getAnswer(request, "completed")?.usage ?? null);
  return usages
    .filter((usage) => usage !== null)
    .reduce<Usage | null>((sum, usage) => (sum ? addUsage(sum, usage) : usage), null);
}

function addUsage(sum: Usage, usage: Usage): Usage {
  const names = new Set([...Object.keys(sum), ...Object.keys(usage)]);
  return Object.fromEntries([...names].map((name) => [name, addValue(sum[name], usage[name])]));
}

function addValue(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (isJsonObject(a) && isJsonObject(b)) return addUsage(a, b);
  return a ?? b;
}
