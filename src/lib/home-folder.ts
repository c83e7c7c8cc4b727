import { homedir } from "node:os";
import path from "node:path";
import { errorCode } from "./error-text.ts";
import { UsageError } from "./error-types.ts";
import { shownAddress } from "./query-secret.ts";

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

/** One letter before the colon is a drive of Windows. */
const ADDRESS = /^[a-z][a-z\d+.-]+:\/\//i;

/**
 * A path with the home folder in place of a `~` at its start. Shells do that only for a word of its own: not after
 * `--output=`, not in a settings file, and not where there is no shell.
 * @throws NoHomeError; UsageError for an address such as s3://bucket/x, which would become folders of these names
 */
export function withHomeFolder(file: string): string {
  if (ADDRESS.test(file)) {
    throw new UsageError(`${shownAddress(file)} is an address, not a path.`, {
      hint: "Nothing was sent. Give a path on this machine.",
    });
  }
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
