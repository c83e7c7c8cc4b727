import { ImggenError } from "../../lib/error-types.ts";
import type { ManifestProblem } from "./check-rows.ts";

const MOST_SHOWN = 100;

/** Rows of a manifest that cannot be sent; so nothing was. */
export class ManifestError extends ImggenError {
  readonly type = "invalid_request";
  readonly problems: readonly ManifestProblem[];

  constructor(problems: readonly ManifestProblem[]) {
    const lines = problems
      .slice(0, MOST_SHOWN)
      .map(({ line, message }) => `line ${line}: ${message.replace(/(?<![.?])$/, ".")}`);
    const more = problems.length - lines.length;
    if (more > 0) lines.push(`… and ${more} more.`);
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(`The manifest has ${count}.\n${lines.join("\n")}`, { hint: "Nothing was sent." });
    this.problems = problems;
  }
}
