import path from "node:path";
import { nameIsTaken } from "../../lib/publish.ts";
import { type OwnedTask, releaseIfPossible } from "../../store/owners.ts";
import type { Destination } from "../../task/intent.ts";
import { isUnknown, type Task } from "../../task/task.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { ofOneAccount, type UseCaseDeps } from "../engine/deps.ts";
import { requireSameAccount } from "../errors.ts";
import { AdmittedRequests } from "../limits/admission.ts";
import { dismissOwned, recordNotSent } from "../engine/dismiss.ts";
import { finishOwned, type ResumeSpec } from "../task/finish-owned.ts";
import { reportOf } from "../engine/report.ts";
import { resumeFound } from "../task/resume-task.ts";
import type { PlannedRow } from "./plan.ts";
import { folderOf, movedDestination } from "./row-files.ts";
import { leftUnknown, resultOf, savedEarlier, unreadable } from "./row-result.ts";
import { type BatchContext, type Step, submitRow } from "./submit-row.ts";

/** Continues a row that has a task, from the task's state. */
export async function resumeRow(row: PlannedRow, record: Task, run: BatchContext): Promise<Step> {
  switch (record.state.name) {
    case "saved":
      return savedBefore(row, record, run);
    case "waiting":
    case "started":
    case "accepted":
    case "completed":
      return finishRow(row, record, run);
    case "rate_limited":
      return unsentRow(row, record, run);
    case "intent":
    case "unknown":
      return unknownRow(row, record, run);
    case "dismissed":
      return dismissedRow(row, record, record.state.replacement, run);
    case "failed":
      // Only what had failed when this run was planned: a row that fails again is the user's to decide on.
      if (row.resubmit === record.id) return submitRow(row, null, run);
      return resultOf(row, reportOf(record), false);
    case "not_sent":
    case "refused":
      return resultOf(row, reportOf(record), false);
  }
}

async function finishRow(row: PlannedRow, record: Task, run: BatchContext): Promise<Step> {
  return withClaim(row, record, run, async (owned) =>
    resultOf(row, await finishOwned(owned, resumeOptions(row, record, run), resumeDeps(run)), false),
  );
}

/** Claims a row's task for its next step. */
async function withClaim(
  row: PlannedRow,
  record: Task,
  run: BatchContext,
  nextStep: (owned: OwnedTask) => Promise<Step>,
): Promise<Step> {
  const owned = await run.deps.ledger.claim(record);
  if (owned === "elsewhere") return "elsewhere";
  return owned === "finished" ? finishedElsewhere(row, record, run) : nextStep(owned);
}

/**
 * Another process moved the task to `done`, so the row is planned again. If its record is unchanged, the file lost
 * its last lines, and how the task ended cannot be read.
 */
async function finishedElsewhere(
  row: PlannedRow,
  { id, state }: Task,
  run: BatchContext,
): Promise<Step> {
  const entry = await run.deps.ledger.read(id);
  const isCutOff = entry?.kind === "task" && entry.record.state.name === state.name;
  return isCutOff ? unreadable(row, entry, null) : "again";
}

/** A row whose process was killed while it waited after a 429 may be submitted; it has the row while it lives. */
async function unsentRow(row: PlannedRow, record: Task, run: BatchContext): Promise<Step> {
  return withClaim(row, record, run, async (owned) => {
    if (owned.record.state.name === "rate_limited") await recordNotSent(owned, run.deps.ledger);
    else await releaseIfPossible(owned);
    return "again";
  });
}

async function unknownRow(row: PlannedRow, record: Task, run: BatchContext): Promise<Step> {
  // If the outcome became unknown after this run was planned, the user decides again.
  const resubmits = row.resubmit === record.id;
  if (record.state.name !== "intent" && !resubmits) return leftUnknown(row, record);
  return withClaim(row, record, run, async (owned) => {
    const isStillUnknown = isUnknown(owned.record);
    if (resubmits && isStillUnknown) {
      await dismissOwned(owned, { why: "resubmitted by the user", replacement: null }, run.deps.ledger);
      return submitRow(row, null, run);
    }
    await releaseIfPossible(owned);
    // Another process may have advanced it since it was read.
    return isStillUnknown ? leftUnknown(row, record) : "again";
  });
}

async function dismissedRow(
  row: PlannedRow,
  record: Task,
  replacement: string | null,
  run: BatchContext,
): Promise<Step> {
  if (replacement === null)
    return row.resubmit === record.id ? submitRow(row, null, run) : leftUnknown(row, record);
  // The user submitted the row's request again with another command: that task now belongs to the row.
  row.attempts.push(await run.claims.claim(row.key, row.attempts.length + 1, replacement));
  return "again";
}

/**
 * A saved row is never submitted again: its files are there, or they are downloaded again. A file that the user
 * changed since is left as it is.
 */
async function savedBefore(row: PlannedRow, record: Task, run: BatchContext): Promise<Step> {
  const report = reportOf(record);
  const moved = movedDestination(row, record, run.output);
  const files = await Promise.all(report.files.map((file) => findFile(file, record, moved)));
  if (files.every((file) => file !== null)) return savedEarlier(row, { ...report, files });
  return resultOf(row, await resumeFound(record, resumeOptions(row, record, run), resumeDeps(run)), false);
}

/** The current place of a saved file: in the moved folder, or where it was saved; null if it is gone. */
async function findFile(
  file: SavedFile,
  { intent }: Task,
  moved: Destination | null,
): Promise<SavedFile | null> {
  if (moved !== null && file.path !== null) {
    const name = path.relative(folderOf(intent.destination), file.path);
    const there = path.join(folderOf(moved), name);
    if (!name.startsWith("..") && (await isOnDisk(there))) return { ...file, path: there };
  }
  return (await isOnDisk(file.path)) ? file : null;
}

async function isOnDisk(file: string | null): Promise<boolean> {
  // On a disk error the file is downloaded again; if it exists after all, it is not saved a second time.
  return file !== null && (await nameIsTaken(file).catch(() => false));
}

function resumeOptions(row: PlannedRow, record: Task, { wait, output }: BatchContext): ResumeSpec {
  return { wait, destination: movedDestination(row, record, output), keepsNewer: true };
}

/** Tasks of earlier runs share the batch's rate limiter. */
function resumeDeps({ deps, admission }: BatchContext): UseCaseDeps {
  const limited = {
    ...deps,
    connection: { ...deps.connection, provider: new AdmittedRequests(admission, null) },
  };
  return {
    ...ofOneAccount(limited),
    async depsFor({ service }, taskId) {
      requireSameAccount(service, deps.connection.identity, taskId);
      return limited;
    },
  };
}
