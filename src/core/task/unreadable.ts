import type { LedgerEntry } from "../../store/ledger-entry.ts";

/** A file in the ledger's folders that cannot be read as a task. */
export type UnreadableEntry = Exclude<LedgerEntry, { kind: "task" }>;

/** One line about such a file, for a warning. It is never deleted. */
export function describeUnreadable(entry: UnreadableEntry): string {
  switch (entry.kind) {
    case "stub":
      return `${entry.file}: imggen ended before this request was written down, so it was never sent.`;
    case "damaged":
      return `${entry.file} is damaged (${entry.why}); it was left as it is.`;
    case "newer":
      return `${entry.file} was written by a newer imggen (format ${entry.version}); update to read it.`;
    case "foreign":
      return `${entry.file} does not belong here; it was left as it is.`;
  }
}

/** Whether an entry may be a charged task, so that it is not certain that all tasks are finished. */
export function mayBeTask({ kind }: UnreadableEntry): boolean {
  return kind === "damaged" || kind === "newer";
}
