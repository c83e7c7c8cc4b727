import { homedir } from "node:os";
import path from "node:path";
import { errorCode } from "./error-text.ts";
import { UsageError } from "./error-types.ts";
import { redactAddress } from "./query-secret.ts";

/** Thrown when settings or the ledger are first used. */
export class NoHomeError extends UsageError {
  constructor() {
    super("You have no home folder for settings and the ledger.", {
      hint: "Nothing was charged. Set IMGGEN_HOME to a folder for them.",
    });
  }
}

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

/** Requires two letters before the colon, because a single letter is a Windows drive. */
const ADDRESS = /^[a-z][a-z\d+.-]+:\/\//i;

/** Expands `~`, which shells do not expand after `--output=`. @throws NoHomeError; UsageError for an s3:// address */
export function expandHome(file: string): string {
  refuseAddress(file, "Give");
  const [, rest] = /^~(?:$|[/\\](.*)$)/s.exec(file) ?? [];
  if (rest === undefined && file !== "~") return file;
  return `${homeFolder()}/${rest ?? ""}`;
}

function refuseAddress(file: string, verb: string): void {
  if (!ADDRESS.test(file)) return;
  throw new UsageError(`${redactAddress(file)} is an address, not a path.`, {
    hint: `Nothing was sent or stored. ${verb} a path on this machine.`,
  });
}

/** Refuses an empty path, which would mean the working folder, and an address. @throws UsageError */
export function requirePath(file: string, label: string): string {
  refuseAddress(file, `${label} needs`);
  return requireNotEmpty(file, label);
}

/** @throws UsageError if the path is empty */
export function requireNotEmpty(file: string, label: string): string {
  if (file === "") throw new UsageError(`${label} is empty.`, { hint: "Give it a path, or leave it out." });
  return file;
}
