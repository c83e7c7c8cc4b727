import type { TaskRecord } from "../task/record.ts";
import type { TaskFile } from "./task-file.ts";

/** A task that this process may write to. */
export interface OwnedTask {
  record: TaskRecord;
  file: TaskFile;
  /** Whether it was taken over from another process, so that there are claims on it. */
  claimed: boolean;
  /** Releases it unfinished. */
  release(): Promise<void>;
}

/** What decides which of several processes begins a task. */
export interface TaskClaim {
  /** @param draft the task's file, synced, under its first name. @returns whether the task is to be begun from it */
  take(draft: string): Promise<boolean>;
  /** Whether a process other than the one that claimed it may have begun the task. */
  isShared(): boolean;
}
