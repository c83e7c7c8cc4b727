import type { LedgerEntry } from "../store/ledger-entry.ts";

/** A file that lies in the ledger's folders and is no task to be read. */
export type UnreadableEntry = Exclude<LedgerEntry, { kind: "task" }>;

/** A file in the ledger's folders that is no task of ours to read, in one line. Nothing is ever deleted there. */
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
