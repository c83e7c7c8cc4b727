import path from "node:path";
import { UsageError } from "../../lib/errors.ts";
import { nameIsTaken } from "../../lib/publish.ts";
import { StateFolderError } from "../../store/errors.ts";
import type { Destination } from "../../task/destination.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { PendingError } from "../errors.ts";
import { AdmittedService } from "../limits/admission.ts";
import { requireSameAccount } from "../task/account.ts";
import { dismissTask, putAwayUnsent } from "../task/dismiss.ts";
import { reportOf } from "../task/report.ts";
import { finishOwned, type ResumeDeps, type ResumeOptions, resumeFound } from "../task/resume.ts";
import { destinationOf, folderOf, movedDestination } from "./batch-row.ts";
import type { PlannedRow } from "./plan.ts";
import { leftUnknown, resultOf, savedEarlier, unreadable } from "./row-result.ts";
import type { BatchContext, Step } from "./run-context.ts";
import { submitRow } from "./submit-row.ts";

/** Goes on with a row that has a task, from where that stands. */
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
    case "dismissed":
      return unknownRow(row, record, run);
    case "not_sent":
    case "refused":
    case "failed":
      return resultOf(row, reportOf(record), false);
  }
}

async function finishRow(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const owned = await run.deps.ledger.claim(record);
  if (owned === "held") return "held";
  if (owned === "finished") return finishedElsewhere(row, record, run);
  return resultOf(row, await finishOwned(owned, resumeOptions(row, record, run), resumeDeps(run)), false);
}

/** A task that was put away has come to an end; one that is where it was all the same has lost its last lines. */
async function finishedElsewhere(
  row: PlannedRow,
  { id, state }: TaskRecord,
  run: BatchContext,
): Promise<Step> {
  const entry = await run.deps.ledger.read(id);
  const isCutOff = entry?.kind === "task" && entry.record.state.name === state.name;
  return isCutOff ? unreadable(row, entry, null) : "again";
}

/** A row whose process was killed while it waited out a 429 may be submitted; one that still waits is held. */
async function unsentRow(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const owned = await run.deps.ledger.claim(record);
  if (owned === "held") return "held";
  if (owned === "finished") return finishedElsewhere(row, record, run);
  if (owned.record.state.name === "rate_limited") await putAwayUnsent(owned, run.deps.ledger);
  else await owned.release();
  return "again";
}

async function unknownRow(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const { name } = record.state;
  if (record.state.name === "dismissed" && record.state.replacement !== null)
    return goOnAs(record.state.replacement, row, run);
  // What has become unknown since this run was planned is the user's to decide on, once more.
  const resubmits = row.resubmit === record.id;
  if (name === "unknown" && !resubmits) return leftUnknown(row, record);
  if (name !== "dismissed") {
    const owned = await run.deps.ledger.claim(record);
    if (owned === "held") return "held";
    if (owned === "finished") return finishedElsewhere(row, record, run);
    await owned.release().catch((error: unknown) => {
      throw new StateFolderError(run.deps.ledger.folder, error);
    });
    // It may have come further since it was read.
    if (!isUnknown(owned.record)) return "again";
    if (resubmits && !(await putAside(owned.record, run))) return "again";
  }
  if (resubmits) return submitRow(row, null, run);
  return leftUnknown(row, record);
}

/** The user bought the row again by other means: that task is the row's now. */
async function goOnAs(id: string, row: PlannedRow, { claims }: BatchContext): Promise<Step> {
  row.attempts.push(await claims.claim(row.key, row.attempts.length + 1, id));
  return "again";
}

/** Whether this process is the one that puts a request of unknown outcome aside, to buy it again. */
async function putAside(record: TaskRecord, { deps }: BatchContext): Promise<boolean> {
  try {
    await dismissTask(record, { why: "resubmitted by the user", replacement: null }, deps);
    return true;
  } catch (error) {
    // Another process was quicker, or is at it.
    if (error instanceof PendingError || error instanceof UsageError) return false;
    throw error;
  }
}

/**
 * A saved row costs nothing more: its files are there, or they are downloaded again. A file that was changed
 * since is its owner's.
 */
async function savedBefore(row: PlannedRow, record: TaskRecord, run: BatchContext): Promise<Step> {
  const report = reportOf(record);
  const moved = movedDestination(row, record, run.place);
  const files = await Promise.all(report.files.map((file) => whereItIs(file, record, moved)));
  if (files.every((file) => file !== null)) return savedEarlier(row, { ...report, files });
  return resultOf(row, await resumeFound(record, resumeOptions(row, record, run), resumeDeps(run)), false);
}

/** A saved file where it is now: in the folder as it was moved, or where it was saved; null where it is gone. */
async function whereItIs(
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
  // Where the disk does not say, fetching it again does: what is still there is not saved twice.
  return file !== null && (await nameIsTaken(file).catch(() => false));
}

function resumeOptions(row: PlannedRow, record: TaskRecord, { wait, place }: BatchContext): ResumeOptions {
  const destination = movedDestination(row, record, place);
  return { wait, destination, fallback: () => destinationOf(row, place) };
}

/** Tasks of earlier runs are waited for at the pace of all. */
function resumeDeps({ deps, admission }: BatchContext): ResumeDeps {
  const paced = {
    ...deps,
    connection: { ...deps.connection, service: new AdmittedService(admission, null) },
  };
  return {
    ledger: deps.ledger,
    async depsFor(service, taskId) {
      if (service) requireSameAccount(service, deps.connection.identity, taskId);
      return paced;
    },
  };
}
