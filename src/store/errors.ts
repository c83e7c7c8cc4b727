import { type ErrorFacts, ImggenError } from "../lib/errors.ts";

/** The state folder cannot hold what must be on disk before anything is sent. */
export class StateFolderError extends ImggenError {
  readonly type = "save_failed";

  constructor(folder: string, cause: unknown, facts: ErrorFacts = {}) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`The state folder cannot be written: ${folder} (${why}).`, {
      hint: "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.",
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
