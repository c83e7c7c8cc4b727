import type { RowResult } from "../../../core/batch/row-result.ts";
import type { RowState } from "../../../core/batch/row-state.ts";

const WORDS: Readonly<Record<RowState, string>> = {
  new: "not sent",
  waiting: "unfinished",
  unfinished: "unfinished",
  saved: "saved",
  failed: "failed",
  unknown: "outcome unknown",
};

/** How a row ended, for a person. */
export function rowWord({ state, isSkipped }: RowResult): string {
  return isSkipped ? "saved before" : WORDS[state];
}
