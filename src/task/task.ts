import type { Charged } from "../lib/error-types.ts";
import { isJsonObject } from "../lib/json.ts";
import { getFreeProvider, type Intent, isAtGenerator } from "./intent.ts";
import { type Answer, type CompletionTimes, type Line, UNKNOWN_TIMES, type Usage } from "./line.ts";
import { entriesOfRequest, type SavedFile } from "./saved-file.ts";

export type OpenState = "waiting" | "running" | "accepted" | "made" | "unknown";

interface StateProperties {
  /** Charge at a paid provider. Failed tasks are "unknown", because the service's document promises no refund. */
  charged: Charged;
  /** Whether the task is unfinished. If so, its file is in `open/`. */
  isOpen: boolean;
  openState: OpenState | null;
}

/** All states by precedence. If a task's requests have different states, the task has the first of these states. */
export const STATES = {
  /** The request is in flight, or the process ended during the submit. */
  started: { charged: "unknown", isOpen: true, openState: "running" },
  accepted: { charged: "yes", isOpen: true, openState: "accepted" },
  /** The request is not in flight, because it waits for its turn or for another attempt. */
  waiting: { charged: "no", isOpen: true, openState: "waiting" },
  /** The image exists at result URLs or in the task's folder, but is not saved. */
  completed: { charged: "yes", isOpen: true, openState: "made" },
  /** The reply to the submit was lost or is unusable, so the user decides what to do. */
  unknown: { charged: "unknown", isOpen: true, openState: "unknown" },
  /** The user stopped tracking a request of unknown outcome. */
  dismissed: { charged: "unknown", isOpen: false, openState: null },
  failed: { charged: "unknown", isOpen: false, openState: null },
  /** The user cancelled the request. It was not sent, or it was abandoned, or the provider stopped it. */
  cancelled: { charged: "unknown", isOpen: false, openState: null },
  refused: { charged: "no", isOpen: false, openState: null },
  not_sent: { charged: "no", isOpen: false, openState: null },
  /** All images are complete files under their final names. Only tasks can have this state, not requests. */
  saved: { charged: "yes", isOpen: false, openState: null },
} as const satisfies Record<string, StateProperties>;

export type TaskState = keyof typeof STATES;

const PRECEDENCE = Object.keys(STATES) as TaskState[];

export interface Attempt {
  name: string;
  at: string;
  answer: Answer | null;
  accepted: { id: string; at: string } | null;
  /** Reason from the provider's last reply, if the reply was that the job or its images no longer exist. */
  goneReason: string | null;
  /** Whether the provider ever reported success. If so, the attempt cannot count as free. */
  wasCompleted: boolean;
  /** Whether the outcome was ever recorded as unknown, even if a late answer corrected it. */
  wasUnknown: boolean;
}

/** State of one request, derived from its attempts and their outcomes regardless of the order of lines. */
export interface RequestState {
  state: Exclude<TaskState, "saved">;
  attempts: readonly Attempt[];
  attempt: Attempt | null;
  notSentReason: string | null;
  isDismissed: boolean;
  /** Number of attempts that might have reached the provider, but have no usable answer. */
  possibleSubmits: number;
}

export interface Task {
  /** The ledger's id, which sorts by time. */
  id: string;
  intent: Intent;
  submittedAt: string;
  /** Mark of the process that has the claim, or null if the process has released the claim. */
  holder: string | null;
  /** Mark of the process that wrote the last part. */
  mark: string;
  parts: number;
  claim: string | null;
  /** Whether the task is withdrawn if another task exists for an equal request. */
  isOnce: boolean;
  state: TaskState;
  requests: readonly RequestState[];
  /** Entries by `fileIndex`. */
  files: readonly (SavedFile | null)[];
  /** Number of images in the reply to each request; 0 or absent if unknown. */
  imageCounts: readonly number[];
  isSaved: boolean;
  dismissal: { why: string; replacement: string | null } | null;
}

export function taskFromIntent(id: string, line: Line<"intent">): Task {
  const { type: _type, v: _v, id: _id, at, holder, attempt, claim, once, ...intent } = line;
  const first = { attempts: [], notSentReason: null, isDismissed: false };
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
    imageCounts: [],
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
      return withTaskState(applyFilesLine(task, line));
    case "dismissed": {
      const { why, replacement } = line;
      return withTaskState({ ...withRequests(task, dismissRequest), dismissal: { why, replacement } });
    }
    default: {
      const isOfRequest = (at: number) => at === line.request;
      return withTaskState(
        withRequests(task, (each, at) => (isOfRequest(at) ? applyRequestLine(each, line) : each)),
      );
    }
  }
}

type BareRequest = Pick<RequestState, "attempts" | "notSentReason" | "isDismissed">;

function withRequests(task: Task, update: (request: RequestState, at: number) => BareRequest): Task {
  const { isPaid } = task.intent;
  return { ...task, requests: task.requests.map((each, at) => withRequestState(update(each, at), isPaid)) };
}

/** Dismisses a request of unknown outcome. Other requests, such as accepted ones, stay unchanged. */
function dismissRequest(request: RequestState, _at: number): BareRequest {
  const { state, attempts } = request;
  // If a late answer rejects a dismissed attempt, the request must not be submitted again.
  const isLateRejection =
    state === "waiting" &&
    attempts.some(({ wasUnknown, answer }) => wasUnknown && answer?.type === "waiting");
  return state === "unknown" || state === "started" || isLateRejection
    ? { ...request, isDismissed: true }
    : request;
}

type RequestLine = Answer | Line<"started" | "not_sent" | "gone">;

function applyRequestLine(request: RequestState, line: RequestLine): BareRequest {
  if (line.type === "not_sent") return { ...request, notSentReason: line.why };
  if (line.type === "gone") {
    const { why: goneReason, attempt } = line;
    return {
      ...request,
      attempts: request.attempts.map((candidate) =>
        candidate.name === attempt ? { ...candidate, goneReason } : candidate,
      ),
    };
  }
  const isKnown = request.attempts.some(({ name }) => name === line.attempt);
  const attempts = isKnown ? request.attempts : [...request.attempts, newAttempt(line)];
  if (line.type === "started") return { ...request, attempts };
  const answeredAttempts = attempts.map((attempt) =>
    attempt.name === line.attempt ? withAnswer(attempt, line) : attempt,
  );
  return { ...request, attempts: answeredAttempts };
}

function newAttempt({ attempt: name, at }: RequestLine & { attempt: string }): Attempt {
  return { name, at, answer: null, accepted: null, goneReason: null, wasCompleted: false, wasUnknown: false };
}

/** Ranks of answers. Before acceptance, the answer with the highest rank counts, regardless of the order of lines. */
const RANKS: Readonly<Record<Answer["type"], number>> = {
  unknown: 1,
  waiting: 2,
  refused: 3,
  failed: 4,
  accepted: 5,
  completed: 6,
};

function withAnswer(attempt: Attempt, line: Answer): Attempt {
  const { answer, wasCompleted } = attempt;
  const accepted =
    line.type === "accepted" ? (attempt.accepted ?? { id: line.taskId, at: line.at }) : attempt.accepted;
  const isCompleted = wasCompleted || line.type === "completed";
  const wasUnknown = attempt.wasUnknown || line.type === "unknown";
  const nextAttempt = { ...attempt, accepted, goneReason: null, wasCompleted: isCompleted, wasUnknown };
  return answer === null || replaces(line, answer)
    ? { ...nextAttempt, answer: withoutUnreliableCharge(line, attempt) }
    : nextAttempt;
}

function replaces(line: Answer, answer: Answer): boolean {
  switch (answer.type) {
    case "completed":
      // Without URLs the image is in a stored reply, which can turn out not to be an image.
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

/** Removes `charged: "no"` if an earlier success or failure makes it unreliable. */
function withoutUnreliableCharge(line: Answer, { answer, wasCompleted }: Attempt): Answer {
  if (line.type !== "failed" || line.charged === undefined) return line;
  const mayBeFree = !wasCompleted && (answer?.type !== "failed" || answer.charged === "no");
  if (mayBeFree) return line;
  const { charged: _, ...paid } = line;
  return paid;
}

function withRequestState(request: BareRequest, isPaid: boolean): RequestState {
  const { attempts, notSentReason, isDismissed } = request;
  const hasType = (type: Answer["type"]) => (attempt: Attempt) => attempt.answer?.type === type;
  const findAnswer = (type: Answer["type"]) => attempts.findLast(hasType(type)) ?? null;
  const openAttempt = attempts.findLast(({ answer }) => answer === null) ?? null;
  const unknownAttempts = attempts.filter((attempt) => attempt.answer?.type === "unknown");
  const possibleSubmits = unknownAttempts.length + attempts.filter(({ answer }) => answer === null).length;
  const withState = (state: RequestState["state"], attempt: Attempt | null): RequestState => ({
    attempts,
    notSentReason,
    isDismissed,
    possibleSubmits,
    state,
    attempt,
  });
  for (const type of ["completed", "accepted"] as const) {
    const attempt = findAnswer(type);
    if (attempt !== null) return withState(type, attempt);
  }
  if (isDismissed) return withState("dismissed", openAttempt ?? unknownAttempts.at(-1) ?? null);
  if (openAttempt !== null) return withState("started", openAttempt);
  const failedAttempt = findAnswer("failed");
  if (failedAttempt !== null)
    return withState(wasCancelled(failedAttempt) ? "cancelled" : "failed", failedAttempt);
  // A free request does not count as unknown, because it is submitted again after an unknown outcome.
  const unknown = unknownAttempts.findLast(({ wasCompleted }) => isPaid || wasCompleted) ?? null;
  if (unknown !== null) return withState("unknown", unknown);
  const refused = findAnswer("refused");
  if (refused !== null) return withState("refused", refused);
  const last = attempts.at(-1) ?? null;
  if (notSentReason === null) return withState("waiting", last);
  return withState(notSentReason === CANCELLED ? "cancelled" : "not_sent", last);
}

function wasCancelled({ answer }: Attempt): boolean {
  return answer?.type === "failed" && answer.why === `${CANCELLED}.`;
}

function withTaskState(task: Task): Task {
  const { requests, isSaved } = task;
  const state = PRECEDENCE.find((each) => requests.some((request) => request.state === each)) ?? "waiting";
  const isFullySaved =
    isSaved &&
    !isPending(state) &&
    state !== "unknown" &&
    requests.some(isCompletedOrFailed) &&
    !isUnsaved(task);
  return { ...task, state: isFullySaved ? "saved" : state };
}

function isCompletedOrFailed({ state }: RequestState): boolean {
  return state === "completed" || state === "failed";
}

function isPending(state: TaskState): boolean {
  return state === "started" || state === "accepted" || state === "waiting";
}

function applyFilesLine(task: Task, line: Line<"partly_saved" | "saved">): Task {
  if (line.type === "saved") {
    const files = line.files.length > 0 ? line.files : task.files;
    // The counts are cleared, because an image that is missing now will never exist.
    return { ...task, files, imageCounts: [], isSaved: true };
  }
  const { files, imageCounts } = line;
  if (imageCounts === undefined) return { ...task, files: mergeFiles(task.files, files) };
  return {
    ...task,
    // A line with counts is in the order of `fileIndex`, but the files before it might not be.
    files: mergeFiles(filesByIndex(task), files),
    imageCounts: task.requests.map((_, at) => imageCounts[at] || task.imageCounts[at] || 0),
  };
}

function mergeFiles(
  before: readonly (SavedFile | null)[],
  now: readonly (SavedFile | null)[],
): (SavedFile | null)[] {
  const longerList = before.length > now.length ? before : now;
  return longerList.map((_, at) => now[at] ?? before[at] ?? null);
}

/** Returns the id for users, file names and messages, which imggen or the provider assigns; null before acceptance. */
export function getTaskId({ intent, requests }: Pick<Task, "intent" | "requests">): string | null {
  return intent.taskId ?? requests[0]?.attempts.find(({ accepted }) => accepted)?.accepted?.id ?? null;
}

export function displayId(task: Pick<Task, "id" | "intent" | "requests">): string {
  return getTaskId(task) ?? task.id;
}

export function getAnswer<Type extends Answer["type"]>(
  { attempt }: Pick<RequestState, "attempt">,
  type: Type,
): Line<Type> | null {
  const answer = attempt?.answer;
  // The compiler cannot derive the type of the line from its `type` field.
  return answer?.type === type ? (answer as unknown as Line<Type>) : null;
}

export function decidingRequest({ requests }: Pick<Task, "requests">): RequestState {
  const state = PRECEDENCE.find((each) => requests.some((request) => request.state === each));
  return requests.find((request) => request.state === state) as RequestState;
}

/** Returns the lines, without the intent, that record a task's outcome after its file is deleted. */
export function summaryLines(task: Task): Line[] {
  const { requests, files, imageCounts, isSaved, dismissal, submittedAt: at } = task;
  const isDismissed = (line: Line) => line.type === "started" && requests[line.request]?.isDismissed === true;
  const lines = requests.flatMap(requestLines(at));
  // Only lines of dismissed requests precede the `dismissed` line, because it would dismiss other open requests too.
  const summary = lines.filter(isDismissed);
  if (dismissal !== null) summary.push({ type: "dismissed", at, ...dismissal });
  summary.push(...lines.filter((line) => !isDismissed(line)));
  const counts = imageCounts.length > 0 && { imageCounts: [...imageCounts] };
  if (files.length > 0) summary.push({ type: "partly_saved", at, files: [...files], ...counts });
  if (isSaved) summary.push({ type: "saved", at, files: [] });
  return summary;
}

function requestLines(at: string) {
  return ({ attempts, notSentReason }: RequestState, request: number): Line[] => {
    const lines = attempts.flatMap(({ name, at, answer, accepted, wasCompleted }): Line[] => {
      const fields = { at, request, attempt: name };
      const completed: Line = { type: "completed", ...fields, urls: [], ...UNKNOWN_TIMES };
      return [
        { type: "started", ...fields },
        ...(accepted === null
          ? []
          : [{ type: "accepted", ...fields, at: accepted.at, taskId: accepted.id } as const]),
        ...(wasCompleted && answer?.type !== "completed" ? [completed] : []),
        ...(answer === null || answer.type === "accepted" ? [] : [answer]),
      ];
    });
    return notSentReason === null ? lines : [...lines, { type: "not_sent", at, why: notSentReason, request }];
  };
}

export function getCompletion({
  requests,
}: Pick<Task, "requests">): (CompletionTimes & { at: string }) | null {
  const completed = requests.flatMap((request) => getAnswer(request, "completed") ?? []);
  if (completed.length === 0) return null;
  const last = completed.reduce((a, b) => (a.at > b.at ? a : b));
  const { seenMs, pendingMs } = requests.length === 1 ? last : UNKNOWN_TIMES;
  return { at: last.at, seenMs, pendingMs };
}

export function getSavedFiles({ files }: Pick<Task, "files">): SavedFile[] {
  return files.filter((file) => file !== null);
}

/**
 * Whether a task was charged. A free or unsent task is never "yes", and a task that succeeded at a paid provider is
 * never "no". All code that reports a charge uses this function.
 */
export function getCharged({ intent, requests }: Pick<Task, "intent" | "requests">): Charged {
  if (!intent.isPaid) return "no";
  const charges = requests.map(getRequestCharged);
  return (
    charges.find((charged) => charged === "yes") ?? charges.find((charged) => charged === "unknown") ?? "no"
  );
}

function getRequestCharged({ state, attempts }: RequestState): Charged {
  const hasEnded = state === "failed" || state === "cancelled";
  return hasEnded && attempts.every(isCertainlyFree) ? "no" : STATES[state].charged;
}

function isCertainlyFree({ answer }: Attempt): boolean {
  if (answer?.type === "failed") return answer.charged === "no";
  return answer?.type === "waiting" || answer?.type === "refused";
}

/** Returns the possible cost of a task in credits, without refused requests; null if unknown. */
export function spentCredits(task: Pick<Task, "intent" | "requests">): number | null {
  const { intent, requests } = task;
  if (getFreeProvider(intent) === "sandbox") return 0;
  if (intent.credits === null || !mayBeCharged(task)) return intent.credits;
  const chargeableRequests = requests.filter(
    (request) => getRequestCharged(request) !== "no" || request.state === "waiting",
  );
  // Avoids the division if all requests count, because rounding could change the amount.
  return chargeableRequests.length === requests.length
    ? intent.credits
    : (intent.credits / requests.length) * chargeableRequests.length;
}

export function unsentCredits({ intent, requests }: Pick<Task, "intent" | "requests">): number | null {
  const waiting = requests.filter(({ state }) => state === "waiting").length;
  if (waiting === 0) return 0;
  return intent.credits === null ? null : (intent.credits / requests.length) * waiting;
}

/** Whether `resume` closes the task without a submit. A later submit of the request then begins a new task. */
export function endsUnsent({ state, intent }: Pick<Task, "state" | "intent">): boolean {
  return state === "waiting" && !isAtGenerator(intent);
}

/** Whether a task was charged, might have been charged, or can still be charged. */
export function mayBeCharged(task: Pick<Task, "intent" | "requests">): boolean {
  const { intent } = task;
  const maySend =
    intent.isPaid && isAtGenerator(intent) && task.requests.some(({ state }) => state === "waiting");
  return getCharged(task) !== "no" || maySend;
}

type SavedImages = Pick<Task, "files" | "imageCounts" | "requests" | "isSaved">;

/** Whether an existing image is not saved. */
export function isUnsaved(task: SavedImages): boolean {
  return task.requests.some(({ state }, request) => state === "completed" && !areImagesSaved(task, request));
}

/** Whether all images of a request's reply are saved. If their number is unknown, the reply must still be opened. */
export function areImagesSaved(task: SavedImages, request: number): boolean {
  const files = requestFiles(task, request);
  const count = task.imageCounts[request] ?? 0;
  if (count > 0) return files.length >= count && !files.slice(0, count).includes(null);
  // After a `saved` line, a missing image will never exist. If all entries are null, the reply arrived after that line.
  return task.isSaved && (files.length === 0 || files.some((file) => file !== null));
}

/** Whether an unsaved image might still be saved. False if the provider no longer has any of them. */
export function hasSavableImage(task: SavedImages): boolean {
  return task.requests.some(
    (request, at) => request.state === "completed" && !areImagesSaved(task, at) && !isGone(request),
  );
}

/** Returns the files of a request, by image. */
export function requestFiles(
  { files, requests }: Pick<Task, "files" | "requests">,
  request: number,
): (SavedFile | null)[] {
  return entriesOfRequest(files, request, requests.length);
}

/**
 * Returns the files whose indexes are those of `fileIndex`. Records of earlier versions have no image counts, and list
 * the additional images of several requests in another order.
 */
export function filesByIndex({
  files,
  imageCounts,
  requests,
  isSaved,
}: SavedImages): readonly (SavedFile | null)[] {
  const isOldRecord = !isSaved && requests.length > 1 && imageCounts.length === 0;
  return isOldRecord ? files.slice(0, requests.length) : files;
}

/** Reason that is recorded for a request that the user cancelled. */
export const CANCELLED = "it was cancelled";

/** Whether the history lists the task. The history omits refused and unsent tasks, but includes cancelled tasks. */
export function isInHistory(task: Task): boolean {
  if (!isAtGenerator(task.intent)) return task.state === "cancelled" || mayBeCharged(task);
  return task.state !== "not_sent" && task.state !== "refused";
}

/** Whether the outcome is unknown, so that the user decides what to do. */
export function isUnknown({ state, requests }: Pick<Task, "state" | "requests">): boolean {
  if (state === "unknown") return true;
  return state === "completed" && requests.some((request) => request.state === "unknown");
}

export function isGone({ state, attempt }: RequestState): boolean {
  return (state === "accepted" || state === "completed") && attempt?.goneReason != null;
}

export function isAllGone(task: SavedImages): boolean {
  const openRequests = task.requests.filter(
    (request, at) =>
      STATES[request.state].isOpen &&
      (isGone(request) || request.state !== "completed" || !areImagesSaved(task, at)),
  );
  return openRequests.length > 0 && openRequests.every(isGone);
}

/** Whether the rest of a task is gone or of unknown outcome, so that only the user can end it. */
export function isOnlyGoneOrUnknown(task: Task): boolean {
  return isAllGone(task) || (isUnknown(task) && !hasSavableImage(task));
}

export function openState(state: TaskState): OpenState | null {
  return STATES[state].openState;
}

/** Returns the task's open state, which is `unknown` if only requests of unknown outcome remain. */
export function openTaskState(task: Task): OpenState | null {
  return isUnknown(task) && !isUnsaved(task) ? "unknown" : openState(task.state);
}

export const OPEN_STATES: readonly OpenState[] = ["waiting", "running", "accepted", "made", "unknown"];

export function isResumable(state: TaskState): boolean {
  return STATES[state].isOpen && state !== "unknown";
}

/** Sums the numbers in the usage of all requests. Other values come from the first request that has them. */
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
