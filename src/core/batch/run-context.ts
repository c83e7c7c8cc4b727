import type { ImggenError } from "../../lib/errors.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import type { TaskDeps } from "../deps.ts";
import type { Gate } from "../limits/admission.ts";
import type { WaitSettings } from "../polling/wait-settings.ts";
import type { BatchPlace } from "./batch-row.ts";
import type { RowEnd } from "./row-result.ts";

/** What all rows of a run share. */
export interface BatchRun {
  place: BatchPlace;
  wait: WaitSettings;
  claims: BatchClaims;
  gate: Gate;
  deps: TaskDeps;
  /** Why the service could not be reached, when it last could not. */
  outage: { error: ImggenError | null };
}

/** Whether another process was quicker, so that the row has to be looked at again. */
export type Step = RowEnd | "held" | "again";
