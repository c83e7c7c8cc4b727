import type { DescribedFailure } from "../../client/failure.ts";

/**
 * The failure for a person: what happened, and what to do next. Only a manifest's problems have lines of their own.
 * @param which of several tasks it is of, to begin with
 */
export function failureLines(failure: DescribedFailure, which = ""): string[] {
  const key = failure.key === null || failure.message.includes(failure.key) ? "" : ` [${failure.key}]`;
  // Who pressed Ctrl-C made no mistake.
  const label = failure.type === "interrupted" ? "" : "error: ";
  const text = `${label}${which}${failure.message}${key}`;
  const lines = failure.problems ? text.split("\n") : [text];
  return failure.hint === "" ? lines : [...lines, ...failure.hint.split("\n").map((line) => `  ${line}`)];
}
