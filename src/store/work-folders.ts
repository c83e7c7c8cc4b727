import { cpSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { isPresent, makeFolder } from "../lib/durable.ts";
import { namesIn } from "./ledger-entry.ts";
import { isId } from "./ledger-name.ts";

/** What is being killed may still write. */
const EMPTYING = { recursive: true, force: true, maxRetries: 5 } as const;

/**
 * Where what providers send is kept until it is saved: a private folder for each request of a task. From the first byte of
 * a reply that was paid for, nothing removes it but the end of its task.
 */
export class WorkFolders {
  readonly folder: string;

  constructor(ledgerFolder: string) {
    this.folder = path.join(ledgerFolder, "work");
  }

  /** The folder of one of a task's requests. It need not be there. */
  of(id: string, request: number): string {
    return path.join(this.folder, id, String(request));
  }

  /** Makes the folder of a request that is about to be sent, and empties it: an earlier attempt has made nothing. */
  async begin(id: string, request: number): Promise<void> {
    const folder = this.of(id, request);
    if (isPresent(folder)) rmSync(folder, EMPTYING);
    await makeFolder(folder, 0o700);
  }

  /** Copies a request's kept reply to a folder that only the user removes. @returns its path @throws the disk's error */
  keep(id: string, request: number): string {
    const kept = path.join(path.dirname(this.folder), "kept", `${id}-${request}`);
    cpSync(this.of(id, request), kept, { recursive: true });
    return kept;
  }

  /** Removes what is kept of a task that is at its end. What cannot be removed does no harm. */
  remove(id: string): void {
    try {
      rmSync(path.join(this.folder, id), EMPTYING);
    } catch {
      // The next sweep tries again.
    }
  }

  /** Removes what is left of tasks that are at their end. @param isFinished whether a task with this id is */
  async sweep(isFinished: (id: string) => Promise<boolean>): Promise<void> {
    for (const name of namesIn(this.folder)) if (isId(name) && (await isFinished(name))) this.remove(name);
  }

  /** Whether anything of a request is kept: a file with something in it. */
  isKept(id: string, request: number): boolean {
    const folder = this.of(id, request);
    return namesIn(folder).some((name) => statSync(path.join(folder, name)).size > 0);
  }
}
