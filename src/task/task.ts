import type { Charged } from "../lib/error-types.ts";
import { isJsonObject } from "../lib/json.ts";
import { freeAt, type Intent, isAtGenerator } from "./intent.ts";
import { type Answer, type CompletionTimes, type Line, NEVER_SEEN, type Usage } from "./line.ts";
import type { SavedFile } from "./saved-file.ts";

/** Position of an open task, as users read it. */
export type OpenWord = "waiting" | "running" | "accepted" | "made" | "unknown";

interface StateFacts {
  /** What it has cost at a paid provider. The service's document does not say that a failed task is refunded. */
  charged: Charged;
  /** Whether something is left to do, so that its file is among the unfinished. */
  isOpen: boolean;
  word: OpenWord | null;
}

/**
 * Every state of a task, and of each of its requests, in the order in which the states of several requests decide for their
 * task. Reports, batch rows, history and JSON are functions of this union.
 */
export const STATES = {
  /** Submitted, no reply yet; or the process that submitted it ended around that. */
  started: { charged: "unknown", isOpen: true, word: "running" },
  accepted: { charged: "yes", isOpen: true, word: "accepted" },
  /** No request is in flight: it waits for its turn, or to be submitted again. */
  waiting: { charged: "no", isOpen: true, word: "waiting" },
  /** The image exists, at result URLs or in the task's folder, and is still to be saved. */
  completed: { charged: "yes", isOpen: true, word: "made" },
  /** The reply to its submit was lost, or cannot be used: the user decides. */
  unknown: { charged: "unknown", isOpen: true, word: "unknown" },
  /** The user has stopped tracking it, although it is not known whether it was charged. */
  dismissed: { charged: "unknown", isOpen: false, word: null },
  failed: { charged: "unknown", isOpen: false, word: null },
  /** The user has cancelled it: it was not sent, or was given up, or its provider has stopped it. */
  cancelled: { charged: "unknown", isOpen: false, word: null },
  refused: { charged: "no", isOpen: false, word: null },
  not_sent: { charged: "no", isOpen: false, word: null },
  /** All of its images are files, whole under their final names. A task's state alone, not a request's. */
  saved: { charged: "yes", isOpen: false, word: null },
} as const satisfies Record<string, StateFacts>;

export type TaskState = keyof typeof STATES;

const ORDER = Object.keys(STATES) as TaskState[];

/** One attempt to submit a request, and the answer to it; null while there is none. */
export interface Attempt {
  name: string;
  at: string;
  answer: Answer | null;
  /** The provider's id of the job, and since when it has it. */
  accepted: { id: string; at: string } | null;
  /** Why the provider has neither the job nor its images, as it said last; null if it did not. */
  gone: string | null;
  /** Whether the provider has answered with success: nothing can show any longer that it was free. */
  wasMade: boolean;
  /** Whether it was recorded as of unknown outcome: a late answer may say that it was not taken. */
  wasLost: boolean;
}

/** One request of a task: a function of its attempts and their answers, whatever the order and part of the lines. */
export interface RequestState {
  state: Exclude<TaskState, "saved">;
  attempts: readonly Attempt[];
  /** The attempt that decides the state; null if none was made. */
  attempt: Attempt | null;
  /** Why it will not be sent; null unless that was decided. */
  notSent: string | null;
  isDismissed: boolean;
  /** Number of attempts that may have reached the provider. */
  tries: number;
}

/** A task, as the lines of its parts add up. */
export interface Task {
  /** The ledger's own name for it; sorts by time. */
  id: string;
  intent: Intent;
  submittedAt: string;
  /** Mark of the process that may work on it; null if that has released it. */
  holder: string | null;
  /** Mark of the process that writes its last part. */
  mark: string;
  /** Number of its parts: one, and one more for each process that has taken it over. */
  parts: number;
  /** The claim of the batch row that it is for; null for none. */
  claim: string | null;
  /** Whether it is withdrawn if another task answers for its request. */
  isOnce: boolean;
  state: TaskState;
  requests: readonly RequestState[];
  /** Images that are files by now; null for one that is not. */
  files: readonly (SavedFile | null)[];
  /** Whether its images were recorded as saved. */
  isSaved: boolean;
  dismissal: { why: string; replacement: string | null } | null;
}

/** A task of which only its first line is known. */
export function begunTask(id: string, line: Line<"intent">): Task {
  const { type: _type, v: _v, id: _id, at, holder, attempt, claim, once, ...intent } = line;
  const first = { attempts: [], notSent: null, isDismissed: false };
  const begun: Task = {
    id,
    intent,
    submittedAt: at,
    holder,
    mark: holder,
    parts: 1,
    claim: claim ?? null,
    isOnce: once === true,
    state: "waiting",
    requests: Array.from({ length: intent.requests }, () => stated(first, intent.isPaid)),
    files: [],
    isSaved: false,
    dismissal: null,
  };
  return attempt === undefined ? begun : withLine(begun, { type: "started", at, request: 0, attempt });
}

/** A task after one more line. */
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
      return derived({
        ...task,
        files: filesAfter(task.files, line),
        isSaved: task.isSaved || line.type === "saved",
      });
    case "dismissed": {
      const { why, replacement } = line;
      return derived({ ...withRequests(task, ended), dismissal: { why, replacement } });
    }
    default: {
      const isAbout = (at: number) => at === line.request;
      return derived(withRequests(task, (each, at) => (isAbout(at) ? requestAfter(each, line) : each)));
    }
  }
}

type Bare = Pick<RequestState, "attempts" | "notSent" | "isDismissed">;

function withRequests(task: Task, next: (each: RequestState, at: number) => Bare): Task {
  const { isPaid } = task.intent;
  return { ...task, requests: task.requests.map((each, at) => stated(next(each, at), isPaid)) };
}

/** What others have made is not given up with what is lost. */
function ended(each: RequestState, _at: number): Bare {
  const { state, attempts } = each;
  // What was dismissed is not sent after all because a late answer says that it was not taken.
  const isLost =
    state === "waiting" && attempts.some(({ wasLost, answer }) => wasLost && answer?.type === "waiting");
  return state === "unknown" || state === "started" || isLost ? { ...each, isDismissed: true } : each;
}

type RequestLine = Answer | Line<"started" | "not_sent" | "gone">;

function requestAfter(each: RequestState, line: RequestLine): Bare {
  if (line.type === "not_sent") return { ...each, notSent: line.why };
  if (line.type === "gone") {
    const { why: gone, attempt } = line;
    return { ...each, attempts: each.attempts.map((one) => (one.name === attempt ? { ...one, gone } : one)) };
  }
  const known = each.attempts.some(({ name }) => name === line.attempt);
  const attempts = known ? each.attempts : [...each.attempts, newAttempt(line)];
  if (line.type === "started") return { ...each, attempts };
  const answered = attempts.map((attempt) =>
    attempt.name === line.attempt ? answerTo(attempt, line) : attempt,
  );
  return { ...each, attempts: answered };
}

function newAttempt({ attempt: name, at }: RequestLine & { attempt: string }): Attempt {
  return { name, at, answer: null, accepted: null, gone: null, wasMade: false, wasLost: false };
}

/** Before an attempt is accepted: an answer of a higher rank counts, in whatever order they are read. */
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
  const made = wasMade || line.type === "completed";
  const wasLost = attempt.wasLost || line.type === "unknown";
  const next = { ...attempt, accepted, gone: null, wasMade: made, wasLost };
  return answer === null || replaces(line, answer) ? { ...next, answer: careful(line, attempt) } : next;
}

/** Whether an answer replaces the one before it. */
function replaces(line: Answer, answer: Answer): boolean {
  switch (answer.type) {
    case "completed":
      // What a reply on this disk holds may turn out to be no image. That it was lost is the word of a process that did not
      // wait for it.
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

/** The answer without the word that nothing was charged, if that may be untrue of what was made or has failed before. */
function careful(line: Answer, { answer, wasMade }: Attempt): Answer {
  if (line.type !== "failed" || line.charged === undefined) return line;
  const mayBeFree = !wasMade && (answer?.type !== "failed" || answer.charged === "no");
  if (mayBeFree) return line;
  const { charged: _, ...paid } = line;
  return paid;
}

/** A request with its state. */
function stated(bare: Bare, isPaid: boolean): RequestState {
  const { attempts, notSent, isDismissed } = bare;
  const is = (type: Answer["type"]) => (attempt: Attempt) => attempt.answer?.type === type;
  const found = (type: Answer["type"]) => attempts.findLast(is(type)) ?? null;
  const open = attempts.findLast(({ answer }) => answer === null) ?? null;
  const lost = attempts.filter((attempt) => attempt.answer?.type === "unknown");
  const tries = lost.length + attempts.filter(({ answer }) => answer === null).length;
  const of = (state: RequestState["state"], attempt: Attempt | null): RequestState => ({
    attempts,
    notSent,
    isDismissed,
    tries,
    state,
    attempt,
  });
  for (const type of ["completed", "accepted"] as const) {
    const attempt = found(type);
    if (attempt !== null) return of(type, attempt);
  }
  if (isDismissed) return of("dismissed", open ?? lost.at(-1) ?? null);
  if (open !== null) return of("started", open);
  const failed = found("failed");
  if (failed !== null) return of(wasCancelled(failed) ? "cancelled" : "failed", failed);
  // What is free is sent again after a loss.
  const unknown = lost.findLast(({ wasMade }) => isPaid || wasMade) ?? null;
  if (unknown !== null) return of("unknown", unknown);
  const refused = found("refused");
  if (refused !== null) return of("refused", refused);
  const last = attempts.at(-1) ?? null;
  if (notSent === null) return of("waiting", last);
  return of(notSent === CANCELLED ? "cancelled" : "not_sent", last);
}

function wasCancelled({ answer }: Attempt): boolean {
  return answer?.type === "failed" && answer.why === `${CANCELLED}.`;
}

/** A task with the state that follows from its requests and files. */
function derived(task: Task): Task {
  const { requests, isSaved } = task;
  const state = ORDER.find((each) => requests.some((request) => request.state === each)) ?? "waiting";
  const isWhole =
    isSaved && !isPending(state) && state !== "unknown" && requests.some(isMade) && !isUnsaved(task);
  return { ...task, state: isWhole ? "saved" : state };
}

function isMade({ state }: RequestState): boolean {
  return state === "completed" || state === "failed";
}

/** Whether something is still to come of a task in this state, besides the files of what is made. */
function isPending(state: TaskState): boolean {
  return state === "started" || state === "accepted" || state === "waiting";
}

/** The saved images after one more line. Those of the end have no gaps for images that are missing. */
function filesAfter(
  before: readonly (SavedFile | null)[],
  { type, files }: Line<"partly_saved" | "saved">,
): readonly (SavedFile | null)[] {
  return type === "saved" && files.length > 0 ? files : merged(before, files);
}

function merged(
  before: readonly (SavedFile | null)[],
  now: readonly (SavedFile | null)[],
): (SavedFile | null)[] {
  const longer = before.length > now.length ? before : now;
  return longer.map((_, at) => now[at] ?? before[at] ?? null);
}

/** Id of a task for users, names and messages: the provider's, or our own; null if it has none. */
export function taskIdOf({ intent, requests }: Pick<Task, "intent" | "requests">): string | null {
  return intent.taskId ?? requests[0]?.attempts.find(({ accepted }) => accepted)?.accepted?.id ?? null;
}

/** Id of a task in messages and for its provider: as `taskIdOf`, or the ledger's name of a task that has none yet. */
export function displayId(task: Pick<Task, "id" | "intent" | "requests">): string {
  return taskIdOf(task) ?? task.id;
}

/** The answer that decides where a request stands, of one type; null if another one does. */
export function answerOf<Type extends Answer["type"]>(
  { attempt }: Pick<RequestState, "attempt">,
  type: Type,
): Line<Type> | null {
  const answer = attempt?.answer;
  // The compiler does not follow which type has which line.
  return answer?.type === type ? (answer as unknown as Line<Type>) : null;
}

/** The request that decides where a task stands. */
export function decidingRequest({ requests }: Pick<Task, "requests">): RequestState {
  const state = ORDER.find((each) => requests.some((request) => request.state === each));
  return requests.find((request) => request.state === state) as RequestState;
}

/** The lines that say how a task has ended, after its intent: for a record of it that outlives its file. */
export function summaryOf(task: Task): Line[] {
  const { requests, files, isSaved, dismissal, submittedAt: at } = task;
  const isDismissed = (line: Line) => line.type === "started" && requests[line.request]?.isDismissed === true;
  const lines = requests.flatMap(linesOfRequest(at));
  // What was open or lost then is dismissed, and nothing else.
  const summary = lines.filter(isDismissed);
  if (dismissal !== null) summary.push({ type: "dismissed", at, ...dismissal });
  summary.push(...lines.filter((line) => !isDismissed(line)));
  if (files.length > 0) summary.push({ type: "partly_saved", at, files: [...files] });
  if (isSaved) summary.push({ type: "saved", at, files: [] });
  return summary;
}

function linesOfRequest(at: string) {
  return ({ attempts, notSent }: RequestState, request: number): Line[] => {
    const lines = attempts.flatMap(({ name, at, answer, accepted, wasMade }): Line[] => {
      const of = { at, request, attempt: name };
      const made: Line = { type: "completed", ...of, urls: [], ...NEVER_SEEN };
      return [
        { type: "started", ...of },
        ...(accepted === null
          ? []
          : [{ type: "accepted", ...of, at: accepted.at, taskId: accepted.id } as const]),
        ...(wasMade && answer?.type !== "completed" ? [made] : []),
        ...(answer === null || answer.type === "accepted" ? [] : [answer]),
      ];
    });
    return notSent === null ? lines : [...lines, { type: "not_sent", at, why: notSent, request }];
  };
}

/** When a task's last image was seen to be complete, and how long that took; null for one without an image. */
export function completionOf({
  requests,
}: Pick<Task, "requests">): (CompletionTimes & { at: string }) | null {
  const made = requests.flatMap((request) => answerOf(request, "completed") ?? []);
  if (made.length === 0) return null;
  const last = made.reduce((a, b) => (a.at > b.at ? a : b));
  const { seenMs, pendingMs } = requests.length === 1 ? last : NEVER_SEEN;
  return { at: last.at, seenMs, pendingMs };
}

/** The images of a task that are files by now, though not all of them may be. */
export function savedFilesOf({ files }: Pick<Task, "files">): SavedFile[] {
  return files.filter((file) => file !== null);
}

/**
 * What a task has cost: never "yes" for what is free or was not sent, never "no" for what a paid provider answered with
 * success. The only place that says so.
 */
export function chargedOf({ intent, requests }: Pick<Task, "intent" | "requests">): Charged {
  if (!intent.isPaid) return "no";
  const each = requests.map(chargedAt);
  return each.find((charged) => charged === "yes") ?? each.find((charged) => charged === "unknown") ?? "no";
}

function chargedAt({ state, attempts }: RequestState): Charged {
  const hasEnded = state === "failed" || state === "cancelled";
  return hasEnded && attempts.every(wasFree) ? "no" : STATES[state].charged;
}

/** Whether an attempt is known to have cost nothing. */
function wasFree({ answer }: Attempt): boolean {
  if (answer?.type === "failed") return answer.charged === "no";
  return answer?.type === "waiting" || answer?.type === "refused";
}

/** What a task has cost or may have cost, in credits: of several requests, those that were not refused. */
export function spentCredits(task: Pick<Task, "intent" | "requests">): number | null {
  const { intent, requests } = task;
  if (freeAt(intent) === "sandbox") return 0;
  if (intent.credits === null || !mayBeCharged(task)) return intent.credits;
  const each = requests.filter((request) => chargedAt(request) !== "no" || request.state === "waiting");
  // A fraction that is divided and multiplied again may not be the same.
  return each.length === requests.length ? intent.credits : (intent.credits / requests.length) * each.length;
}

/** What the requests of a task cost that may still be sent, in credits; null if there is no price. */
export function unsentCredits({ intent, requests }: Pick<Task, "intent" | "requests">): number | null {
  const waiting = requests.filter(({ state }) => state === "waiting").length;
  if (waiting === 0) return 0;
  return intent.credits === null ? null : (intent.credits / requests.length) * waiting;
}

/** Whether nothing of a task was submitted, and it ends unsent: `resume` closes it, and its request begins a new task. */
export function endsUnsent({ state, intent }: Pick<Task, "state" | "intent">): boolean {
  return state === "waiting" && !isAtGenerator(intent);
}

/** Whether a task was, may have been or may still be charged: all but those that were refused or never sent. */
export function mayBeCharged(task: Pick<Task, "intent" | "requests">): boolean {
  const { intent } = task;
  const maySend =
    intent.isPaid && isAtGenerator(intent) && task.requests.some(({ state }) => state === "waiting");
  return chargedOf(task) !== "no" || maySend;
}

/** Whether an image is made and not saved: one for each request, and after these their further images. */
export function isUnsaved({
  files,
  requests,
  isSaved,
}: Pick<Task, "files" | "requests" | "isSaved">): boolean {
  // The reply to a request that was given up may have come after the others were saved.
  if (isSaved) return requests.some(({ state }, at) => state === "completed" && files[at] === null);
  const count = Math.max(files.length, requests.length);
  const isToCome = (at: number) => (requests[at]?.state ?? "completed") === "completed";
  return Array.from({ length: count }, (_, at) => at).some((at) => !files[at] && isToCome(at));
}

/** Why a request has no image that the user has cancelled. */
export const CANCELLED = "it was cancelled";

/** Whether a task was neither refused nor left unsent but by the user, so that the history has it. */
export function isInHistory(task: Task): boolean {
  if (!isAtGenerator(task.intent)) return task.state === "cancelled" || mayBeCharged(task);
  return task.state !== "not_sent" && task.state !== "refused";
}

/** Whether a reply was lost, so that it is not known whether something was charged, and the user decides. */
export function isUnknown({ state, requests }: Pick<Task, "state" | "requests">): boolean {
  if (state === "unknown") return true;
  return state === "completed" && requests.some((request) => request.state === "unknown");
}

/** Whether the provider of an open request has neither its job nor its images. */
export function isGone({ state, attempt }: RequestState): boolean {
  return (state === "accepted" || state === "completed") && attempt?.gone != null;
}

/** Whether a provider has neither the jobs nor the images of all requests that are open. */
export function isAllGone({ requests, files }: Pick<Task, "requests" | "files">): boolean {
  const open = requests.filter(
    (request, at) =>
      STATES[request.state].isOpen && (isGone(request) || request.state !== "completed" || !files[at]),
  );
  return open.length > 0 && open.every(isGone);
}

/** Position of an open task, in the word that users read; null for one that is at its end. */
export function stateWord(state: TaskState): OpenWord | null {
  return STATES[state].word;
}

/** As `stateWord`: what is left of a task with nothing to save is the user's to decide. */
export function wordOf(task: Task): OpenWord | null {
  return isUnknown(task) && !isUnsaved(task) ? "unknown" : stateWord(task.state);
}

/** All of them, in the order of a task's life. */
export const STATE_WORDS: readonly OpenWord[] = ["waiting", "running", "accepted", "made", "unknown"];

/** Whether `resume` can take a task in this state further. */
export function isResumable(state: TaskState): boolean {
  return STATES[state].isOpen && state !== "unknown";
}

/** Cost and tokens of all requests together: numbers are added up, anything else is kept from the first that has it. */
export function usageOf({ requests }: Pick<Task, "requests">): Usage | null {
  const usages = requests.map((request) => answerOf(request, "completed")?.usage ?? null);
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
