import type { Clock } from "../../lib/clock.ts";
import type { Processes } from "../../lib/processes.ts";
import type { WaitHow } from "../../providers/provider.ts";

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

export type WaitOptions = Pick<WaitHow, "signal"> & Partial<WaitHow>;
