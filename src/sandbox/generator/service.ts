import type { GeneratorOptions } from "../../generators/spec.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { AdoptDeps } from "../queue/adopt.ts";
import type { SharedPause } from "../queue/pause.ts";
import type { GeneratorSlots } from "../queue/slots.ts";
import type { CollectedImages } from "./kept-files.ts";

/** What the handlers of a service with a generator share. */
export interface GeneratorService extends AdoptDeps {
  options: GeneratorOptions;
  /** The only key that is accepted: no other local user, and no web page, has tasks run. */
  apiKey: string;
  /** Signs result URLs. */
  secret: string;
  /** The models that have rules. */
  matrix: Matrix;
  /** Where private copies of reference images are; null where requests name none. */
  references: string | null;
  collected: CollectedImages;
  slots: GeneratorSlots;
  pause: SharedPause;
  /** Whether this process runs tasks, or only answers polls. */
  runs: boolean;
}
