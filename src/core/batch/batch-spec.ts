import type { ImggenError } from "../../lib/error-types.ts";
import type { CostRules } from "../limits/budget.ts";
import type { GateDeps } from "../limits/gate.ts";
import type { WaitSettings } from "../polling/wait.ts";
import type { PrivateCopies } from "../references/private-copies.ts";
import type { CheckedRow } from "./batch-row.ts";
import type { BatchCounts } from "./counts.ts";
import type { BatchPlan, PlannedRow, RowState, TotalCost } from "./plan.ts";
import type { OutputFolder } from "./row-files.ts";
import type { RowResult } from "./row-result.ts";
import { isInShard, type Shard } from "./shard.ts";

export const DEFAULT_CONCURRENCY = 4;

export interface BatchSpec extends CostRules {
  rows: CheckedRow[];
  output: OutputFolder;
  /** Copies reference images before the first submit; absent or null if none are copied. */
  copies?: Pick<PrivateCopies, "make"> | null;
  wait: WaitSettings;
  concurrency: number;
  /** States of the rows that are submitted again, at a new charge. */
  resubmits: ReadonlySet<RowState>;
  shard: Shard | null;
  /** Rows that count toward the budget: all rows ever submitted into the folder, or only the rows of this batch. */
  budgetOf: "folder" | "rows";
  /** Budget in credits, including earlier runs; null for none. */
  cap: number | null;
  /** Cost in credits above which the user must confirm. */
  confirmAbove: number;
  /** Whether the cost and a folder of another machine are confirmed in advance. */
  yes: boolean;
  nameOf: (row: CheckedRow) => string;
}

export interface BatchResult {
  counts: BatchCounts;
  rows: number;
  /** Possible charge of earlier runs. */
  charged: TotalCost;
  /** Reason for an early stop: an error of the account, or a signal; null if the batch was not stopped. */
  stopped: ImggenError | null;
}

/** Question that the user must confirm before rows are submitted. */
export type Confirmation =
  | { about: "costs"; credits: number; isEstimate: boolean }
  /** `rows`: number of rows that another ledger might have submitted. */
  | { about: "folder"; message: string; rows: number };

export interface BatchEvents extends Pick<GateDeps, "onOutage" | "onPause"> {
  /** Asks the user to confirm; absent if there is no terminal. */
  confirm?: ((confirmation: Confirmation) => Promise<boolean>) | undefined;
  /** Called with a warning that the user need not confirm. */
  onWarning?: (message: string) => Promise<void>;
  /** Called after the budget is checked, and before the user confirms the cost. */
  onPlan?: (plan: BatchPlan) => Promise<void>;
  /** Called before the first submit. `cutOff` returns the result so far, for a process that exits early. */
  onRun?: (cutOff: () => BatchResult) => void;
  onStart?: (row: PlannedRow) => void;
  onEnd: (end: RowResult, counts: BatchCounts) => Promise<void>;
}

/** Returns a filter for keys of rows in the budget; null if there is no budget or it covers only this run's rows. */
export function budgetedKeys({ cap, shard, budgetOf }: BatchSpec): ((key: string) => boolean) | null {
  if (cap === null || budgetOf === "rows") return null;
  return (key) => shard === null || isInShard(key, shard);
}
