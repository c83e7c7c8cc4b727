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
import { inShard, type Shard } from "./shard.ts";

/** Maximum number of rows in flight. */
export const DEFAULT_CONCURRENCY = 4;

/** Rows that were checked, and how they are to be run. */
export interface BatchSpec extends CostRules {
  rows: CheckedRow[];
  output: OutputFolder;
  /** Copies of the rows' reference images, made before the first is submitted; absent or null for none. */
  copies?: Pick<PrivateCopies, "make"> | null;
  wait: WaitSettings;
  concurrency: number;
  /** States of the rows that are submitted again, at a new charge. */
  resubmits: ReadonlySet<RowState>;
  /** The part of the rows that this is; null for all of them. */
  shard: Shard | null;
  /** Whether the budget is that of all rows that were ever submitted into the folder, or of these rows alone. */
  budgetOf: "folder" | "rows";
  /** The budget in credits, earlier runs included; null for none. */
  cap: number | null;
  /** Above so many credits the cost must be agreed to. */
  confirmAbove: number;
  /** Whether everything is agreed to beforehand: the cost, and a folder that another machine began. */
  yes: boolean;
  /** How messages for people name a row. */
  nameOf: (row: CheckedRow) => string;
}

/** How a batch ended, or its state so far. */
export interface BatchResult {
  counts: BatchCounts;
  rows: number;
  /** What may have been charged in earlier runs. */
  charged: TotalCost;
  /** Why it stopped early: an error of the account, or a signal. null if it did not. */
  stopped: ImggenError | null;
}

/** What a person has to agree to before rows are submitted. */
export type Doubt =
  | { about: "costs"; credits: number; isEstimate: boolean }
  /** Of the rows, `rows` may have been submitted from elsewhere, as the message says. */
  | { about: "folder"; message: string; rows: number };

/** How a caller agrees to a batch, and follows it. */
export interface BatchEvents extends Pick<GateDeps, "onOutage" | "onPause"> {
  /** Asks a person. Absent: there is none to be asked. */
  confirm?: ((doubt: Doubt) => Promise<boolean>) | undefined;
  /** Called for what a person is told, and not asked. */
  onWarning?: (message: string) => Promise<void>;
  /** The batch is within its budget, and may be submitted if its cost is agreed to. */
  onPlan?: (plan: BatchPlan) => Promise<void>;
  /** Rows are submitted from now on. `cutOff` returns the state so far, for when the process is about to end. */
  onRun?: (cutOff: () => BatchResult) => void;
  onStart?: (row: PlannedRow) => void;
  onEnd: (end: RowResult, counts: BatchCounts) => Promise<void>;
}

/** Which rows count toward the budget in addition to those of this run; null for none. */
export function budgetedKeys({ cap, shard, budgetOf }: BatchSpec): ((key: string) => boolean) | null {
  if (cap === null || budgetOf === "rows") return null;
  return (key) => shard === null || inShard(key, shard);
}
