import { readFileSync } from "node:fs";

/** What an operation does to the disk; `change` covers rename, unlink, chmod and the close of a written file. */
export type OperationKind = "create" | "write" | "sync" | "change" | "read";

/** A file operation of the program, as the preload logged it. */
export interface Operation {
  pid: number;
  /** From 1, in the order of the run. */
  number: number;
  name: string;
  kind: OperationKind;
  /** Absolute. */
  file: string;
  /** The other name of a link or a rename. */
  from: string | null;
  creates: boolean;
  /** Whether it went well before the program ended. */
  done: boolean;
  /** Bytes in the file when it was opened, or when its sync began. */
  size: number;
  /** Where the file that it removed is kept. */
  kept: string | null;
}

export interface OperationLog {
  operations: Operation[];
  /** Calls that change the disk and are not numbered: there must be none. */
  unwatched: string[];
}

/** Reads a world's log: the operations of all its runs so far. */
export function readOperations(log: string): OperationLog {
  const operations = new Map<string, Operation>();
  const unwatched: string[] = [];
  for (const line of readText(log).split("\n").slice(0, -1)) {
    const entry = JSON.parse(line);
    if (entry.unwatched) {
      unwatched.push(`${entry.unwatched} of ${entry.file}`);
      continue;
    }
    const key = `${entry.pid} ${entry.number}`;
    const blank = { from: null, creates: false, done: false, size: 0, kept: null };
    operations.set(key, { ...blank, ...operations.get(key), ...entry });
  }
  return { operations: [...operations.values()], unwatched };
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // A program that was killed before its first operation has no log.
    return "";
  }
}
