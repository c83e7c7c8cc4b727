import type { ImggenError } from "../../lib/error-types.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import type { TaskDeps } from "../deps.ts";
import type { Admission } from "../limits/admission.ts";
import type { WaitSettings } from "../polling/wait.ts";
import type { OutputFolder } from "./batch-row.ts";
import type { BudgetWatch } from "./budget-watch.ts";
import type { RowResult } from "./row-result.ts";

/** What all rows of a run share. */
export interface BatchContext {
  output: OutputFolder;
  wait: WaitSettings;
  claims: BatchClaims;
  admission: Admission;
  deps: TaskDeps;
  /** null if there is none to watch. */
  budget: Pick<BudgetWatch, "exceeded"> | null;
  /** The last error that kept a submit from being sent. */
  outage: { error: ImggenError | null };
}

/** `elsewhere`: another process is working on the row. `again`: the row changed, so its next step is decided again. */
export type Step = RowResult | "elsewhere" | "again";
