import type { ProcessIdentity } from "../lib/processes.ts";
import type { Intent } from "./intent.ts";
import { chargedIn, type TaskEvent, type TaskState } from "./lifecycle.ts";

/** A task as the ledger knows it. */
export interface TaskRecord {
  /** The ledger's own name for it; sorts by time. */
  id: string;
  intent: Intent;
  /** The process that began it, and works on it while it is alive; null if that has released it. */
  owner: ProcessIdentity | null;
  submittedAt: string;
  state: TaskState;
}

export type IntentEvent = Extract<TaskEvent, { type: "intent" }>;

/** A task of which only its first line is known. */
export function begunTask(id: string, line: IntentEvent): TaskRecord {
  const { type: _type, v: _v, id: _id, at, owner, until = null, ...intent } = line;
  return { id, intent, owner, submittedAt: at, state: { name: "intent", until } };
}

/** Whether a task was, may have been or may still be charged: all but those that the service refused or never got. */
export function mayBeCharged({ state }: Pick<TaskRecord, "state">): boolean {
  return chargedIn(state) !== "no";
}

/** Whether a reply was lost, so that it is not known whether something was charged, and the user decides. */
export function isUnknown({ state }: Pick<TaskRecord, "state">): boolean {
  return state.name === "intent" || state.name === "unknown" || state.name === "lost";
}
