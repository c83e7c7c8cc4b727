import { errorText } from "../lib/error-text.ts";
import { type ErrorFacts, ImggenError } from "../lib/errors.ts";

/** The state folder cannot be read, or cannot hold what must be on disk. */
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

/** The settings file is damaged, or could not be written. It is kept as it is. */
export class SettingsError extends ImggenError {
  readonly type: "usage" | "save_failed";

  constructor(type: "usage" | "save_failed", message: string, facts: ErrorFacts = {}) {
    super(message, facts);
    this.type = type;
  }
}
