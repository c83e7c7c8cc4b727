import { readFileSync } from "node:fs";
import path from "node:path";
import { filesBelow, ledgerLeftovers } from "./disk.ts";
import type { CrashWorld } from "./world.ts";

/** A claim that is complete: the row, the count of its equals, and the attempt. */
const CLAIM = /^[0-9a-f]+-\d+\.\d+$/;
/** What was being written when the program was killed. Nobody takes it for anything else. */
const DRAFT = /^\.[0-9a-f]+-\d+\.\d+\.[0-9a-f]{8}$/;

/** What the ledger knows of an output folder: by its id, by its path, and drafts of either. */
const FOLDER = /^(\.?)[0-9a-f]{32}(\.shared|\.path)?(\.[0-9a-f]{8})?$/;

/** The names of the tasks that the rows of all batches have become, attempts by attempts. */
export function claimedTasks({ home }: CrashWorld): string[] {
  const names = filesBelow(home).filter((name) => CLAIM.test(path.basename(name)));
  return names.map((name) => {
    const [line = ""] = readFileSync(path.join(home, name), "utf8").split("\n");
    return line.startsWith("{") ? JSON.parse(line).id : line;
  });
}

/** What lies in the ledger and is no task, no claim of a row, nothing known of a folder, and no draft of any. */
export function strayFiles(world: CrashWorld): string[] {
  return ledgerLeftovers(world).filter((name) => {
    const base = path.basename(name);
    return ![CLAIM, DRAFT, FOLDER].some((kind) => kind.test(base));
  });
}
