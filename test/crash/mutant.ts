import type { Edit } from "./operators.ts";
import type { Point } from "./points.ts";
import type { Scenario } from "./scenarios.ts";

/** A bug that is planted to see whether it is caught. */
export interface Mutant<Kind extends Scenario = Scenario> {
  bug: string;
  edits: Edit[];
  /** Where it is known to show: the points of a scenario whose names match, or one point. */
  shows: { scenario: Kind; at: RegExp | Point };
}
