import type { ImggenError } from "../../lib/errors.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import type { TaskDeps } from "../deps.ts";
import type { Admission } from "../limits/admission.ts";
import type { WaitSettings } from "../polling/wait-settings.ts";
import type { OutputFolder } from "./batch-row.ts";
import type { RowResult } from "./row-result.ts";

/** What all rows of a run share. */
export interface BatchContext {
  place: OutputFolder;
  wait: WaitSettings;
  claims: BatchClaims;
  admission: Admission;
  deps: TaskDeps;
  /** Why the service could not be reached, when it last could not. */
  outage: { error: ImggenError | null };
}

/** Whether another process was quicker, so that the row has to be looked at again. */
export type Step = RowResult | "held" | "again";
