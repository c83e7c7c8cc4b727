import type { Point } from "./points.ts";
import type { Scenario } from "./scenarios.ts";

/**
 * A change to the source: a text that occurs in `src` exactly once, however it is spaced and broken into lines, and
 * another for it. Which file it is in does not matter.
 */
export interface Edit {
  find: string;
  replace: string;
}

/** A bug that is planted to see whether it is caught. */
export interface Mutant<Kind extends Scenario = Scenario> {
  bug: string;
  edits: Edit[];
  /** Where it is known to show: the points of a scenario whose names match, or one point. */
  shows: { scenario: Kind; at: RegExp | Point };
}

/** A file's code with an edit made, and in how many places. A comma may follow the last argument. */
export function edited(code: string, { find, replace }: Edit): { code: string; places: number } {
  const tokens = find.match(/[\w$]+|[^\s\w$]/g) ?? [];
  const pattern = tokens
    .map((token) => (token === ")" ? ",?\\s*\\)" : token.replace(/[^\w]/g, "\\$&")))
    .join("\\s*");
  let places = 0;
  const changed = code.replace(new RegExp(pattern, "g"), () => {
    places++;
    return replace;
  });
  return { code: changed, places };
}
