import { errorCode, errorText } from "../lib/error-text.ts";
import { type ErrorFacts, ImggenError } from "../lib/error-types.ts";
import { userId } from "../lib/processes.ts";
import { shellWord } from "../lib/shell-word.ts";
import type { Wording } from "../lib/wording.ts";

/**
 * The state folder cannot be read or written. Thrown by the ledger and all stores beside it; `cause` is the disk's error. Tasks
 * that were accepted before are in the ledger.
 */
export class StateFolderError extends ImggenError {
  readonly type = "save_failed";

  constructor(folder: string, cause: unknown, facts: ErrorFacts = {}) {
    const { hint = "Free some space or fix its permissions, then try again." } = facts;
    super(`The state folder ${folder} cannot be used: ${errorText(cause)}${placeOf(cause, folder)}.`, {
      ...facts,
      hint: [hint, ...getBack(cause, folder)],
      cause,
    });
  }
}

/** A record of the ledger cannot be read, and a decision about money rests on it. */
export class UnreadableRecordError extends ImggenError {
  readonly type = "save_failed";

  /**
   * @param why a phrase
   * @param clause what is not known without the record, as in `so its cost is not known`
   * @param otherwise how to go on without it, as a sentence
   */
  constructor(file: string, why: string, clause: string, otherwise?: Wording, cause?: unknown) {
    const [fixed = `Fix ${file}, or move it away.`] = getBack(cause, file);
    const hint = ["Nothing was sent.", otherwise ?? "", fixed];
    super(`${file} cannot be read (${why}), ${clause}.`, { hint, cause });
  }
}

/** The file that the system has refused, if the message does not name it already. */
function placeOf(cause: unknown, named: string): string {
  const place = cause instanceof Error && "path" in cause ? cause.path : undefined;
  return typeof place === "string" && place !== named ? `: ${place}` : "";
}

/** The state folder of a ledger's folder or file. */
const LEDGER_IN_STATE = /[/\\]tasks(?:[/\\].*)?$/;

/** How a user gets files back that root has made, as a list; empty if that is not the cause. */
function getBack(cause: unknown, place: string): string[] {
  const isForeign = ["EACCES", "EPERM"].includes(errorCode(cause) ?? "");
  // Windows has no such command, and root no need of it.
  if (!isForeign || !userId()) return [];
  const state = place.replace(LEDGER_IN_STATE, "");
  return [`If another user owns it, as after sudo: sudo chown -R "$USER" ${shellWord(state)}`];
}

/** @throws StateFolderError in place of a system error of an action that uses a folder below the state folder */
export async function usingStateFolder<Result>(
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

/**
 * The settings file is damaged (`type` is `usage`), or could not be written (`save_failed`). Thrown where it is read or
 * changed; the file is kept as it is.
 */
export class SettingsError extends ImggenError {
  readonly type: "usage" | "save_failed";

  constructor(type: "usage" | "save_failed", message: string, facts: ErrorFacts = {}) {
    super(message, facts);
    this.type = type;
  }
}
