import path from "node:path";
import { UsageError } from "../../lib/error-types.ts";
import { nameIsTaken } from "../../lib/publish.ts";
import { StateFolderError } from "../../store/errors.ts";
import type { Destination } from "../../task/intent.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { ofOneAccount, type UseCaseDeps } from "../deps.ts";
import { ClaimedError, requireSameAccount } from "../errors.ts";
import { AdmittedService } from "../limits/admission.ts";
import { finishOwned, type ResumeSpec } from "../task/finish-owned.ts";
import { reportOf } from "../task/report.ts";
import { resumeFound } from "../task/resume.ts";
import { dismissTask, recordNotSent } from "../task/unknown-outcome.ts";
import { folderOf, movedDestination } from "./batch-row.ts";
import type { PlannedRow } from "./plan.ts";
import { leftUnknown, resultOf, savedEarlier, unreadable } from "./row-result.ts";
import { type BatchContext, type Step, submitRow } from "./submit-row.ts";

/** Continues a row that has a task, from the task's state. */
export async function resumeRow(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  switch (record.state.name) {
    case "saved":
      return savedBefore(row, record, run);
    case "accepted":
    case "completed":
      return finishRow(row, record, run);
    case "rate_limited":
      return unsentRow(row, record, run);
    case "intent":
    case "unknown":
    case "lost":
    case "dismissed":
      return unknownRow(row, record, run);
    case "failed":
      // Only what had failed when this run was planned: a row that fails again is the user's to decide on.
      if (row.resubmit === record.id) return submitRow(row, null, run);
      return resultOf(row, reportOf(record), false);
    case "not_sent":
    case "refused":
      return resultOf(row, reportOf(record), false);
  }
}

async function finishRow(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const owned = await run.deps.ledger.claim(record);
  if (owned === "elsewhere") return "elsewhere";
  if (owned === "finished") return finishedElsewhere(row, record, run);
  return resultOf(row, await finishOwned(owned, resumeOptions(row, record, run), resumeDeps(run)), false);
}

/**
 * Another process moved the task to `done`, so the row is planned again. If its record is unchanged, the file lost
 * its last lines, and how the task ended cannot be read.
 */
async function finishedElsewhere(
  row: PlannedRow,
  { id, state }: TaskRecord,
  run: BatchContext,
): Promise<Step> {
  const entry = await run.deps.ledger.read(id);
  const isCutOff = entry?.kind === "task" && entry.record.state.name === state.name;
  return isCutOff ? unreadable(row, entry, null) : "again";
}

/** A row whose process was killed while it waited after a 429 may be submitted; it has the row while it lives. */
async function unsentRow(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const owned = await run.deps.ledger.claim(record);
  if (owned === "elsewhere") return "elsewhere";
  if (owned === "finished") return finishedElsewhere(row, record, run);
  if (owned.record.state.name === "rate_limited") await recordNotSent(owned, run.deps.ledger);
  else await owned.release();
  return "again";
}

async function unknownRow(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const { name } = record.state;
  if (record.state.name === "dismissed" && record.state.replacement !== null)
    return adoptReplacement(record.state.replacement, row, run);
  // If the outcome became unknown after this run was planned, the user decides again.
  const resubmits = row.resubmit === record.id;
  if ((name === "unknown" || name === "lost") && !resubmits) return leftUnknown(row, record);
  if (name !== "dismissed") {
    const owned = await run.deps.ledger.claim(record);
    if (owned === "elsewhere") return "elsewhere";
    if (owned === "finished") return finishedElsewhere(row, record, run);
    await owned.release().catch((error: unknown) => {
      throw new StateFolderError(run.deps.ledger.folder, error);
    });
    // Another process may have advanced it since it was read.
    if (!isUnknown(owned.record)) return "again";
    if (resubmits && !(await dismissToResubmit(owned.record, run))) return "again";
  }
  if (resubmits) return submitRow(row, null, run);
  return leftUnknown(row, record);
}

/** The user submitted the row's request again with another command: that task now belongs to the row. */
async function adoptReplacement(id: string, row: PlannedRow, { claims }: BatchContext): Promise<Step> {
  row.attempts.push(await claims.claim(row.key, row.attempts.length + 1, id));
  return "again";
}

/** Dismisses a request of unknown outcome before it is submitted again. @returns false if another process did so */
async function dismissToResubmit(record: TaskRecord, { deps }: BatchContext): Promise<boolean> {
  try {
    await dismissTask(record, { why: "resubmitted by the user", replacement: null }, deps.ledger);
    return true;
  } catch (error) {
    // Another process has dismissed it, or is about to.
    if (error instanceof ClaimedError || error instanceof UsageError) return false;
    throw error;
  }
}

/**
 * A saved row is never submitted again: its files are there, or they are downloaded again. A file that the user
 * changed since is left as it is.
 */
async function savedBefore(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const report = reportOf(record);
  const moved = movedDestination(row, record, run.output);
  const files = await Promise.all(report.files.map((file) => findFile(file, record, moved)));
  if (files.every((file) => file !== null)) return savedEarlier(row, { ...report, files });
  return resultOf(row, await resumeFound(record, resumeOptions(row, record, run), resumeDeps(run)), false);
}

/** The current place of a saved file: in the moved folder, or where it was saved; null if it is gone. */
async function findFile(
  file: SavedFile,
  { intent }: TaskRecord,
  moved: Destination | null,
): Promise<SavedFile | null> {
  if (moved !== null && file.path !== null) {
    const name = path.relative(folderOf(intent.destination), file.path);
    const there = path.join(folderOf(moved), name);
    if (!name.startsWith("..") && (await isThere(there))) return { ...file, path: there };
  }
  return (await isThere(file.path)) ? file : null;
}

async function isThere(file: string | null): Promise<boolean> {
  // On a disk error the file is downloaded again; if it exists after all, it is not saved a second time.
  return file !== null && (await nameIsTaken(file).catch(() => false));
}

function resumeOptions(row: PlannedRow, record: TaskRecord, { wait, output }: BatchContext): ResumeSpec {
  return { wait, destination: movedDestination(row, record, output), keepsNewer: true };
}

/** Tasks of earlier runs share the batch's rate limiter. */
function resumeDeps({ deps, admission }: BatchContext): UseCaseDeps {
  const limited = {
    ...deps,
    connection: { ...deps.connection, service: new AdmittedService(admission, null) },
  };
  return {
    ...ofOneAccount(limited),
    async depsFor(service, taskId) {
      requireSameAccount(service, deps.connection.identity, taskId);
      return limited;
    },
  };
}
