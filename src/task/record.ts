import type { ProcessIdentity } from "../lib/processes.ts";
import type { Intent } from "./intent.ts";
import { chargedIn, type TaskState } from "./lifecycle.ts";

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

/** Whether a task was, may have been or may still be charged: all but those that the service refused or never got. */
export function mayBeCharged({ state }: Pick<TaskRecord, "state">): boolean {
  return chargedIn(state) !== "no";
}

/** Whether a reply was lost, so that it is not known whether something was charged, and the user decides. */
export function isUnknown({ state }: Pick<TaskRecord, "state">): boolean {
  return state.name === "intent" || state.name === "unknown" || state.name === "lost";
}

const CHARACTERS = 8;

/**
 * What history and the names of a task's images have of its id, and what every command takes for it: its last letters
 * and digits, where ids differ most.
 */
export function shortTaskId(id: string): string {
  return id.replace(/[^A-Za-z0-9]/g, "").slice(-CHARACTERS) || "task";
}

/** The short ids of several tasks; whole ids where two of them would be the same. */
export function shortTaskIds(ids: readonly string[]): string[] {
  const of = new Map<string, Set<string>>();
  for (const id of ids) of.set(shortTaskId(id), (of.get(shortTaskId(id)) ?? new Set()).add(id));
  return ids.map((id) => (of.get(shortTaskId(id))?.size === 1 && id !== "" ? shortTaskId(id) : id));
}
