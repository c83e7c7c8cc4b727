import { type ExitCodeRow as CodeOf, EXIT_CODES, SIGNAL_CODES } from "../../client/exit-codes.ts";
import type { ErrorType } from "../../lib/error-types.ts";

/** What each exit code means, for help, README and scripts. */
const MEANINGS: Readonly<Record<0 | CodeOf<ErrorType>, string>> = {
  0: "done; every file promised is on disk and checked",
  1: "a bug in imggen",
  2: "the request is wrong; refused here, or by the service, at no cost. doctor: something must be fixed",
  3: "no key, or the service refused it",
  4: "the account cannot pay for this",
  5: "the service refused or failed the task",
  6: "still running when the wait ended; resumable",
  7: "the service could not be reached; nothing was charged",
  8: "the image was charged but could not be downloaded or written, resumable; or the output folder is unusable, found before anything was sent",
  9: "the submit may or may not have been accepted",
  10: "batch, compare: some rows did not end in a saved file",
  129: "SIGHUP; the ids of pending tasks were printed",
  130: "SIGINT; the ids of pending tasks were printed",
  143: "SIGTERM; the ids of pending tasks were printed",
};

export interface ExitCode {
  code: number;
  /** The values of `error.type` in JSON output that end with this code; none for success. */
  types: readonly string[];
  meaning: string;
}

/** Every exit code, in order. */
export function exitCodeTable(): ExitCode[] {
  const signals = Object.values(SIGNAL_CODES).map((code) => ["interrupted", code] as const);
  const all = [...Object.entries(EXIT_CODES), ...signals];
  return Object.entries(MEANINGS).map(([code, meaning]) => ({
    code: Number(code),
    types: all.flatMap(([type, of]) => (of === Number(code) ? [type] : [])),
    meaning,
  }));
}

/** The page of the topic `exit-codes`. */
export function exitCodePage(): string {
  const rows = exitCodeTable().map(({ code, types, meaning }) => {
    const ending = types.length > 0 ? ` (${types.join(", ")})` : "";
    return `| ${code} | ${meaning}${ending} |`;
  });
  return `Every command ends with one of these. In brackets: error.type in --json output.

| code | meaning |
|---|---|
${rows.join("\n")}

With several tasks, status and resume end with the code of the task that went worst.`;
}
