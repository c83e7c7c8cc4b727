import type { BatchClaims, LostTask } from "../../store/batch-claims.ts";
import type { LedgerEntry } from "../../store/ledger-entry.ts";
import { isId } from "../../store/ledger-name.ts";
import type { LedgerReader } from "../../store/ledger-reader.ts";

/** Where the attempts at rows are looked up. */
export interface AttemptDeps {
  claims: Pick<BatchClaims, "attempt" | "read">;
  ledger: Pick<LedgerReader, "read">;
}

/** What is known of an attempt; null where nothing of it was ever begun. */
export type Attempt = LedgerEntry | LostTask | null;

/** A row's name, and its attempts as the claims tell them. */
export interface Attempted {
  key: string;
  /** The ledger's names of the tasks it became, first attempt first; a damaged claim stands there as its path. */
  attempts: string[];
}

/**
 * What became of an attempt: what its task's file says, or where the ledger has that no more, what its claim says.
 * @param at 0 for the first
 * @throws StateFolderError
 */
export async function readAttempt(row: Attempted, at: number, deps: AttemptDeps): Promise<Attempt> {
  const id = await taskOf(row, at, deps);
  if (!isId(id)) return { kind: "lost", file: id, record: null };
  return (await deps.ledger.read(id)) ?? deps.claims.read(row.key, at + 1);
}

/** Without hard links a claim may be seen before it is whole: one that was damaged may be whole by now. */
async function taskOf({ key, attempts }: Attempted, at: number, { claims }: AttemptDeps): Promise<string> {
  const known = attempts[at] ?? "";
  if (isId(known)) return known;
  const now = await claims.attempt(key, at + 1).owner();
  attempts[at] = now;
  return now;
}

/** The task of another command that was submitted in a row's place. @throws StateFolderError */
export async function readReplacement(id: string, { ledger }: AttemptDeps): Promise<Attempt> {
  // Its file alone says what became of it: where that was removed, it may have been charged.
  return (await ledger.read(id)) ?? { kind: "lost", file: id, record: null };
}
