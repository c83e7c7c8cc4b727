import { errorText } from "../lib/error-text.ts";
import { type ErrorFacts, ImggenError } from "../lib/error-types.ts";

/**
 * The state folder cannot be read, or cannot hold what must be on disk. Thrown by the ledger and all that is kept beside it;
 * `cause` is the disk's error. What was accepted before is in the ledger.
 */
export class StateFolderError extends ImggenError {
  readonly type = "save_failed";

  constructor(folder: string, cause: unknown, facts: ErrorFacts = {}) {
    super(`The state folder ${folder} cannot be used: ${errorText(cause)}.`, {
      hint: "Free some space or fix its permissions, then try again.",
      ...facts,
      cause,
    });
  }
}

/** @throws StateFolderError in place of any other error of an action that uses a folder below the state folder */
export async function usingStateFolder<Result>(
  folder: string,
  hint: string,
  action: () => Promise<Result>,
): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof StateFolderError) throw error;
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
