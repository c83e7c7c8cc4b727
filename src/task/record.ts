import type { ProcessIdentity } from "../lib/processes.ts";
import type { Intent } from "./intent.ts";
import { STATES, standingOf, type TaskState } from "./lifecycle.ts";

/** A task as the ledger knows it. */
export interface TaskRecord {
  /** The ledger's own name for it; sorts by time. */
  id: string;
  intent: Intent;
  owner: ProcessIdentity;
  submittedAt: string;
  state: TaskState;
}

/** Whether a task may have cost something, or may yet: everything but what the service refused or never got. */
export function mayBeCharged({ state }: Pick<TaskRecord, "state">): boolean {
  return STATES[standingOf(state)].charged !== "no";
}

/** Whether the submit's reply never came, so that nobody knows if the task exists, and the user is to decide. */
export function isUnknown({ state }: Pick<TaskRecord, "state">): boolean {
  return state.name === "intent" || state.name === "unknown";
}
