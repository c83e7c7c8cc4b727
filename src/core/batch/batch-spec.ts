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
  /** The row's name in messages. */
  nameOf: (row: CheckedRow) => string;
}

/** End of a batch, or its state so far. */
export interface BatchResult {
  counts: BatchCounts;
  rows: number;
  /** Possible charge of earlier runs. */
  charged: TotalCost;
  /** Reason for an early stop: an error of the account, or a signal; null for none. */
  stopped: ImggenError | null;
}

/** Facts that a person must confirm before rows are submitted. */
export type Confirmation =
  | { about: "costs"; credits: number; isEstimate: boolean }
  /** Of the rows, `rows` may have been submitted from elsewhere, as the message says. */
  | { about: "folder"; message: string; rows: number };

/** Callbacks that confirm a batch and follow it. */
export interface BatchEvents extends Pick<GateDeps, "onOutage" | "onPause"> {
  /** Asks a person. Absent: there is none to be asked. */
  confirm?: ((confirmation: Confirmation) => Promise<boolean>) | undefined;
  /** Called for what a person is told, and not asked. */
  onWarning?: (message: string) => Promise<void>;
  /** The batch is within its budget, and may be submitted if its cost is agreed to. */
  onPlan?: (plan: BatchPlan) => Promise<void>;
  /** Rows are submitted from now on. `cutOff` returns the state so far, for when the process is about to end. */
  onRun?: (cutOff: () => BatchResult) => void;
  onStart?: (row: PlannedRow) => void;
  onEnd: (end: RowResult, counts: BatchCounts) => Promise<void>;
}

/** Rows that count toward the budget in addition to those of this run; null for none. */
export function budgetedKeys({ cap, shard, budgetOf }: BatchSpec): ((key: string) => boolean) | null {
  if (cap === null || budgetOf === "rows") return null;
  return (key) => shard === null || isInShard(key, shard);
}
