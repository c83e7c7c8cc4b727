import type { BatchCounts } from "../batch/counts.ts";
import type { BatchPlan } from "../batch/plan.ts";
import type { RowResult } from "../batch/row-result.ts";
import type { TaskProgressEvent } from "../engine/events.ts";
import type { OutageEvent } from "../limits/gate.ts";

export type RunEvent =
  | TaskProgressEvent
  /** All tasks of the run are known. */
  | { type: "begun"; names: readonly string[] }
  /** Outputs are printed in the order of the tasks. `at`: index of the task in `names`. */
  | { type: "ended" | "printed"; at: number }
  | { type: "planned"; plan: BatchPlan; cap: number | null }
  | { type: "row_begun" }
  | { type: "row_ended"; result: RowResult; counts: BatchCounts }
  | { type: "outage"; outage: OutageEvent }
  /** The provider is busy, so that all rows wait. `why`: a sentence. */
  | { type: "busy"; delayMs: number; why: string };
