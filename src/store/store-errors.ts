import { errorCode, errorText } from "../lib/error-text.ts";
import { type ErrorFacts, ImggenError } from "../lib/error-types.ts";
import { userId } from "../lib/processes.ts";
import { shellWord } from "../lib/shell-word.ts";
import type { Wording } from "../lib/wording.ts";

/** The state folder cannot be read or written. Tasks accepted earlier are safe in the ledger. */
export class StateFolderError extends ImggenError {
  readonly type = "save_failed";

  constructor(folder: string, cause: unknown, facts: ErrorFacts = {}) {
    const { hint = "Free some space or fix its permissions, then try again." } = facts;
    super(`The state folder ${folder} cannot be used: ${errorText(cause)}${fileOfError(cause, folder)}.`, {
      ...facts,
      hint: [hint, ...ownershipAdvice(cause, folder)],
      cause,
    });
  }
}

/** A record that is needed for a decision about money cannot be read. */
export class UnreadableRecordError extends ImggenError {
  readonly type = "save_failed";

  /** @param clause the unknown fact, as in `so its cost is not known` @param advice how to continue, as a sentence */
  constructor(file: string, why: string, clause: string, advice?: Wording, cause?: unknown) {
    const [repairAdvice = `Fix ${file}, or move it away.`] = ownershipAdvice(cause, file);
    const hint = ["Nothing was sent.", advice ?? "", repairAdvice];
    super(`${file} cannot be read (${why}), ${clause}.`, { hint, cause });
  }
}

function fileOfError(cause: unknown, folder: string): string {
  const file = cause instanceof Error && "path" in cause ? cause.path : undefined;
  return typeof file === "string" && file !== folder ? `: ${file}` : "";
}

const LEDGER_IN_STATE = /[/\\]tasks(?:[/\\].*)?$/;

function ownershipAdvice(cause: unknown, file: string): string[] {
  const isForeign = ["EACCES", "EPERM"].includes(errorCode(cause) ?? "");
  // Windows has no `chown`, and root does not need to own the folder.
  if (!isForeign || !userId()) return [];
  const state = file.replace(LEDGER_IN_STATE, "");
  return [`If another user owns it, as after sudo: sudo chown -R "$USER" ${shellWord(state)}`];
}

/** @throws StateFolderError instead of a system error */
export async function withStateFolderErrors<Result>(
  folder: string,
  hint: string,
  action: () => Promise<Result>,
): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ImggenError) throw error;
    throw new StateFolderError(folder, error, { hint });
  }
}

/** The settings file is damaged (`usage`) or could not be written (`save_failed`), and is unchanged. */
export class SettingsError extends ImggenError {
  readonly type: "usage" | "save_failed";

  constructor(type: "usage" | "save_failed", message: string, facts: ErrorFacts = {}) {
    super(message, facts);
    this.type = type;
  }
}
