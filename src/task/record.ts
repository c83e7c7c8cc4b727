import type { Charged } from "../lib/error-types.ts";
import type { ProcessIdentity } from "../lib/processes.ts";
import { advance } from "./advance.ts";
import { combined, underOwnId } from "./combined.ts";
import { type Intent, isPaid } from "./intent.ts";
import { STATES, type TaskEvent, type TaskState } from "./lifecycle.ts";
import type { Work } from "./work.ts";

/** A task as the ledger knows it. */
export interface TaskRecord {
  /** The ledger's own name for it; sorts by time. */
  id: string;
  intent: Intent;
  /** The process that began it, and works on it while it is alive; null if that has released it. */
  owner: ProcessIdentity | null;
  submittedAt: string;
  /** Where the task stands. */
  state: TaskState;
  /** Where each of its requests stands. */
  requests: readonly TaskState[];
  /** The lines about the images of all of its requests together, in their order. */
  ofAll: readonly TaskEvent[];
}

export type IntentEvent = Extract<TaskEvent, { type: "intent" }>;

/** A task of which only its first line is known. */
export function begunTask(id: string, line: IntentEvent): TaskRecord {
  const { type: _type, v: _v, id: _id, at, owner, until = null, ...intent } = line;
  const { work } = intent;
  const first: TaskState = work
    ? { name: "waiting", taskId: work.taskId, tries: 0, why: null, by: owner, until }
    : { name: "intent", until };
  const requests = Array.from({ length: work?.requests ?? 1 }, () => first);
  return { id, intent, owner, submittedAt: at, state: first, requests, ofAll: [] };
}

/** A task after one more line. */
export function withEvent(record: TaskRecord, event: TaskEvent): TaskRecord {
  const owner = event.type === "released" ? null : record.owner;
  const { work } = record.intent;
  const [first, ...more] = record.requests;
  if (first !== undefined && more.length === 0) {
    const next = advance(first, event);
    return { ...record, owner, state: work ? underOwnId(next, work.taskId) : next, requests: [next] };
  }
  const at = "request" in event && typeof event.request === "number" ? event.request : 0;
  const requests = record.requests.map((state, index) =>
    isMeant(state, event, index === at) ? advance(state, event) : state,
  );
  const ofAll = OF_IMAGES.has(event.type) ? [...record.ofAll, event] : record.ofAll;
  const state = ofAll.reduce(advance, combined(requests, work?.taskId ?? ""));
  return { ...record, owner, requests, ofAll, state };
}

/** Lines about the images of all requests together. */
const OF_IMAGES: ReadonlySet<TaskEvent["type"]> = new Set(["partly_saved", "saved"]);

/** Whether a line is about one of several requests. @param isNamed whether it gives that one's number */
function isMeant(state: TaskState, { type }: TaskEvent, isNamed: boolean): boolean {
  if (OF_IMAGES.has(type)) return false;
  if (type === "released") return true;
  // What others have made is not given up with what is lost.
  return type === "dismissed" ? state.name === "unknown" : isNamed;
}

/** The id of a task for users, names and messages: the provider's, or our own; null if it has none. */
export function taskIdOf({ intent, state }: Pick<TaskRecord, "intent" | "state">): string | null {
  return intent.work?.taskId ?? ("taskId" in state ? state.taskId : null);
}

/** The work of a task at another provider than the hosted service. @throws TypeError for one of that service */
export function workOf({ intent }: Pick<TaskRecord, "intent">): Work {
  if (intent.work === undefined) throw new TypeError("a task of the hosted service");
  return intent.work;
}

/** How many attempts to send one of a task's requests may have reached the other side; 0 once it has ended. */
export function triesOf({ requests }: Pick<TaskRecord, "requests">, index: number): number {
  const state = requests[index];
  return state && "tries" in state ? state.tries : 0;
}

/**
 * What a task has cost, as its file says: never "yes" for what is free or was not sent, never "no" for what a paid
 * provider answered with success. The only place that says so.
 */
export function chargedOf({ intent, state, requests }: TaskRecord): Charged {
  if (!isPaid(intent)) return "no";
  if (!intent.work) return chargedAt(state);
  const each = requests.map(chargedAt);
  return each.find((charged) => charged === "yes") ?? each.find((charged) => charged === "unknown") ?? "no";
}

function chargedAt(state: TaskState): Charged {
  if (state.name === "failed" && state.charged !== undefined) return state.charged;
  if (state.name === "rate_limited" && state.isOwnerGone) return "no";
  if (state.name === "waiting" && state.tries > 0) return "unknown";
  return STATES[state.name].charged;
}

/** What a task has cost or may have cost, in credits: of several requests, those that were not refused. */
export function spentCredits(record: TaskRecord): number | null {
  const { credits, work } = record.intent;
  if (credits === null || !work || !mayBeCharged(record)) return credits;
  const { requests } = record;
  const each = requests.filter((state) => chargedAt(state) !== "no" || mayStillBeSent(state));
  // A fraction that is divided and multiplied again may not be the same.
  return each.length === requests.length ? credits : (credits / requests.length) * each.length;
}

/** Whether a task was, may have been or may still be charged: all but those that were refused or never sent. */
export function mayBeCharged(record: TaskRecord): boolean {
  return (
    chargedOf(record) !== "no" ||
    (record.intent.work?.isPaid === true && record.requests.some(mayStillBeSent))
  );
}

/** Why a request has no image whose process ended before its reply came. */
export const ENDED_MEANWHILE = "the process that had sent it ended before the reply had come";

/** The lines that end the requests of a task that were sent, and that nothing has come of. */
export function linesOfLost(
  { intent, requests }: TaskRecord,
  isLost: (request: number) => boolean,
  at: string,
): TaskEvent[] {
  // What is free is sent again.
  if (!intent.work?.isPaid) return [];
  return requests.flatMap(({ name }, request) =>
    name === "started" && isLost(request)
      ? [{ type: "unknown" as const, at, why: ENDED_MEANWHILE, request }]
      : [],
  );
}

/** Whether an image is made and not saved: one for each request, and after these their further images. */
export function isUnsaved({ state, requests }: Pick<TaskRecord, "state" | "requests">): boolean {
  const saved = state.name === "completed" ? state.partlySaved : [];
  const places = Array.from({ length: Math.max(saved.length, requests.length) }, (_, at) => at);
  return places.some((at) => !saved[at] && (requests[at]?.name ?? "completed") === "completed");
}

function mayStillBeSent({ name }: TaskState): boolean {
  return name === "waiting";
}

/** Whether a task is one that was asked for and neither refused nor left unsent, so that the history has it. */
export function isInHistory(record: TaskRecord): boolean {
  if (record.intent.work === undefined) return mayBeCharged(record);
  return record.state.name !== "not_sent" && record.state.name !== "refused";
}

/** Whether a reply was lost, so that it is not known whether something was charged, and the user decides. */
export function isUnknown({ state, requests }: Pick<TaskRecord, "state" | "requests">): boolean {
  if (state.name === "intent" || state.name === "unknown") return true;
  return state.name === "completed" && requests.some(({ name }) => name === "unknown");
}
