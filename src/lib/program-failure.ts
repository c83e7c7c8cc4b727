import { formatDuration } from "./duration.ts";
import { errorText } from "./error-text.ts";
import type { ProgramEnd } from "./run-program.ts";

const MOST_LINES = 3;
const MOST_CHARACTERS = 300;

/** How a program failed, as a phrase that follows its name, with the end of what it said. */
export function programFailure(
  end: Exclude<ProgramEnd, { kind: "aborted" | "too_much_output" }>,
  program: string,
  timeoutMs: number,
): string {
  switch (end.kind) {
    case "not_started":
      return `cannot be started: ${program}: ${errorText(end.error)}`;
    case "timed_out":
      return `took longer than ${formatDuration(timeoutMs)} and was killed${lastLines(end.stderr)}`;
    case "ended": {
      const how =
        end.killedBy === null ? `failed with exit code ${end.code}` : `was ended by ${end.killedBy}`;
      return `${how}${lastLines(end.stderr)}`;
    }
  }
}

/** The end of what a program said, on one line, after a colon. */
function lastLines(said: string): string {
  const lines = linesOf(said).slice(-MOST_LINES).join(" / ");
  if (lines === "") return "";
  return `: ${lines.length > MOST_CHARACTERS ? `…${lines.slice(-MOST_CHARACTERS)}` : lines}`;
}

/** The lines of a text that are not blank, without the spaces around them. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r?\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
