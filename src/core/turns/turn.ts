import type { Clock } from "../../lib/clock.ts";
import type { Processes } from "../../lib/processes.ts";

/** What a waiter waits for. */
export interface Waiting {
  /** How many are before it. */
  ahead: number;
  /** For whom it waits: "another imggen process, pid 4711", "a request that was given up, for 3 minutes at most". */
  holder: string;
}

export interface Turn {
  /**
   * Ends the turn.
   * @param keepMs for how long nobody may have it, because the other side may still be at work: at most a day; default 0
   * @throws the disk's error; then the turn ends with its time limit, or its process
   */
  release(keepMs?: number): Promise<void>;
}

export interface LineLimits {
  /** How many may have a turn at once, over all processes. */
  concurrency: number;
  /** A turn ends after this time, at most a day, even if its process lives. Milliseconds. */
  forMs: number;
}

export interface LineDeps {
  processes: Processes;
  clock: Pick<Clock, "now" | "sleep" | "monotonicMs">;
}

export interface WaitOptions {
  signal: AbortSignal;
  /** Is called whenever what it waits for changes. */
  onWait?: (waiting: Waiting) => void;
}
