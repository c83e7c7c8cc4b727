import { homedir } from "node:os";
import path from "node:path";
import { errorCode } from "./error-text.ts";
import { UsageError } from "./error-types.ts";

/** There is no folder for settings and state. Thrown at the first use of one; `hint` names IMGGEN_HOME. */
export class NoHomeError extends UsageError {
  constructor() {
    super("You have no home folder, so there is no place for settings and the ledger.", {
      hint: "Nothing was charged. Set IMGGEN_HOME to a folder that is to hold them.",
    });
  }
}

/** @throws NoHomeError if neither the environment nor the system knows one */
export function homeFolder(): string {
  let home = "";
  try {
    home = homedir();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
  if (path.isAbsolute(home)) return home;
  throw new NoHomeError();
}

/**
 * A path with the home folder in place of a `~` at its start. Shells do that only for a word of its own: not after
 * `--output=`, not in a settings file, and not where there is no shell. @throws NoHomeError
 */
export function withHomeFolder(file: string): string {
  const [, rest] = /^~(?:$|[/\\](.*)$)/s.exec(file) ?? [];
  if (rest === undefined && file !== "~") return file;
  // A slash at the end stays: it says that it is a folder.
  return `${homeFolder()}/${rest ?? ""}`;
}

/** A path as it was given. An empty one would mean the working folder, or the root of a path below it. @throws UsageError */
export function requirePath(file: string, label: string): string {
  if (file === "") throw new UsageError(`${label} is empty.`, { hint: "Give it a path, or leave it out." });
  return file;
}
