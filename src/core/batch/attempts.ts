import { errorCode } from "../../lib/error-text.ts";
import type { ClaimReader, LostTask } from "../../store/claim-reader.ts";
import { type LedgerEntry, requireReadable } from "../../store/ledger-files.ts";
import { isId } from "../../store/ledger-name.ts";
import type { LedgerReader } from "../../store/ledger-reader.ts";
import { effectiveState, type TaskState } from "../../task/task.ts";
import type { TaskReport } from "../engine/report.ts";

/** Where the attempts at rows are read from. */
export interface AttemptDeps {
  claims: Pick<ClaimReader, "owner" | "read">;
  ledger: Pick<LedgerReader, "read">;
}

/** What is known of an attempt; null if its task was never begun. */
export type Attempt = LedgerEntry | LostTask | null;

/** A row's key, and its attempts as recorded by the claims. */
export interface Attempted {
  key: string;
  /** Ledger ids of the row's tasks, first attempt first; for a damaged claim, the path of the claim. */
  attempts: string[];
}

/**
 * The state of an attempt: from its task file, or from its claim if the ledger no longer has the file.
 * @param at index of the attempt, from 0
 * @throws StateFolderError; UnreadableRecordError where the system does not give the file
 */
export async function readAttempt(row: Attempted, at: number, deps: AttemptDeps): Promise<Attempt> {
  const id = await taskOf(row, at, deps);
  if (!isId(id)) return { kind: "lost", file: id, record: null };
  const entry = (await deps.ledger.read(id)) ?? (await deps.claims.read(row.key, at + 1));
  // What is damaged stays so, and its row is of unknown outcome. What this user may not read another may have finished.
  if (entry?.kind === "damaged" && errorCode(entry.cause) !== undefined)
    requireReadable(entry, "so it is not known what was charged for its row");
  return entry;
}

/** Without hard links a claim is visible before it is complete, so a claim that looked damaged is read once more. */
async function taskOf({ key, attempts }: Attempted, at: number, { claims }: AttemptDeps): Promise<string> {
  const loaded = attempts[at] ?? "";
  if (isId(loaded)) return loaded;
  const now = await claims.owner(key, at + 1);
  attempts[at] = now;
  return now;
}

/** The task that another command submitted in place of a row. @throws StateFolderError */
export async function readReplacement(id: string, { ledger }: AttemptDeps): Promise<Attempt> {
  // It has no claim, only its task file. If that was removed, the task may have been charged.
  return (await ledger.read(id)) ?? { kind: "lost", file: id, record: null };
}

/**
 * The state of a row, from its latest task. `new` is to be submitted: nothing was ever sent for it, or the service
 * refused it. `waiting` is another process's to submit. `unfinished` is charged and not saved. `failed` may have been
 * charged, and the service could not finish it: to submit it again is the user's decision.
 */
export type RowState = "new" | "waiting" | "unfinished" | "saved" | "failed" | "unknown";

const ROW_STATES: Readonly<Record<TaskState, RowState>> = {
  intent: "unknown",
  waiting: "unfinished",
  started: "unfinished",
  rate_limited: "waiting",
  not_sent: "new",
  refused: "new",
  unknown: "unknown",
  dismissed: "unknown",
  accepted: "unfinished",
  completed: "unfinished",
  failed: "failed",
  saved: "saved",
};

/** @param entry the latest attempt; null if the row has none, or its task was never begun */
export function rowStateOf(entry: Attempt): RowState {
  if (entry === null) return "new";
  // A task that cannot be read may have been charged.
  return entry.kind === "task" ? ROW_STATES[effectiveState(entry.record.state)] : "unknown";
}

/** A row's state at the end of a run: a refused row counts as failed, because the same run does not submit it again. */
export function rowStateAfter({ state, error }: Pick<TaskReport, "state" | "error">): RowState {
  const isRefused = state === "refused";
  const isSavedInVain = state === "saved" && error !== null;
  return isRefused || isSavedInVain ? "failed" : ROW_STATES[state];
}
