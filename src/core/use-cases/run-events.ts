import type { BatchCounts } from "../batch/counts.ts";
import type { BatchPlan } from "../batch/plan.ts";
import type { RowResult } from "../batch/row-result.ts";
import type { TaskProgressEvent } from "../engine/events.ts";
import type { OutageEvent } from "../limits/gate.ts";

/** Events of a command that works on tasks, or on the rows of a batch. */
export type RunEvent =
  | TaskProgressEvent
  /** It is known which tasks there are. */
  | { type: "begun"; names: readonly string[] }
  /** A task has ended, and its lines are printed, which may have to wait for those of others. `at`: its place in `names`. */
  | { type: "ended" | "printed"; at: number }
  | { type: "planned"; plan: BatchPlan; cap: number | null }
  | { type: "row_begun" }
  | { type: "row_ended"; result: RowResult; counts: BatchCounts }
  /** Submitting stops, or continues. */
  | { type: "outage"; outage: OutageEvent }
  /** The service is busy: all rows wait. */
  | { type: "busy"; delayMs: number };
