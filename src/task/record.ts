import type { ProcessIdentity } from "../lib/processes.ts";
import type { Intent } from "./intent.ts";
import type { TaskProgress } from "./lifecycle.ts";

/** A task as the ledger knows it. */
export interface TaskRecord {
  /** The ledger's own name for it; sorts by time. */
  id: string;
  intent: Intent;
  owner: ProcessIdentity;
  submittedAt: string;
  progress: TaskProgress;
}

/** Whether a task may have cost something, or may yet: everything but what the service refused or never got. */
export function mayBeCharged({ progress }: TaskRecord): boolean {
  switch (progress.status) {
    case "refused":
    case "not_sent":
      return false;
    case "rate_limited":
      return !progress.isOwnerGone;
    case "intended":
    case "unknown":
    case "dismissed":
    case "accepted":
    case "completed":
    case "failed":
    case "saved":
      return true;
  }
}

/** Whether the submit's reply never came, so that nobody knows if the task exists, and the user is to settle it. */
export function isUnknown(record: TaskRecord): boolean {
  return record.progress.status === "intended" || record.progress.status === "unknown";
}
