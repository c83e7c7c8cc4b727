import { errorCode } from "../../lib/error-code.ts";
import { type ErrorType, ImggenError, UsageError } from "../../lib/errors.ts";
import { nameIsTaken } from "../../lib/publish.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import { StateFolderError } from "../../store/errors.ts";
import { isUnknown, type SavedFile, type TaskRecord } from "../../store/task.ts";
import { requireSameAccount } from "../account.ts";
import type { TaskDeps } from "../deps.ts";
import { PendingError } from "../errors.ts";
import { buyOwned, intentOf } from "../generate.ts";
import { reportOf, type TaskReport } from "../report.ts";
import { finishOwned, type ResumeDeps, type ResumeOptions, resumeFound } from "../resume.ts";
import { dismissTask } from "../settle.ts";
import type { WaitSettings } from "../wait-settings.ts";
import { type Gate, Pass } from "./gate.ts";
import type { PlannedRow } from "./plan.ts";
import {
  ended,
  endedWithout,
  leftUnknown,
  notSent,
  type RowEnd,
  savedEarlier,
  unreadable,
} from "./row-end.ts";
import { type BatchPlace, destinationOf } from "./rows.ts";
import { standingOf } from "./standing.ts";

/** What all rows of a run share. */
export interface BatchRun {
  place: BatchPlace;
  wait: WaitSettings;
  resubmitUnknown: boolean;
  claims: BatchClaims;
  gate: Gate;
  deps: TaskDeps;
  /** Why the service could not be reached, when it last could not. */
  outage: { error: ImggenError | null };
}

/** Errors that say of the account, or of its limits, that no further row can be bought. */
const STOPS: ReadonlySet<ErrorType> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
  "budget_exceeded",
]);

/** What a disk answers that will take no other image either. */
const DISK_IS_OUT: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

/** Whether to buy further rows would be in vain. What is under way is finished all the same. */
function endsAll(error: ImggenError): boolean {
  if (STOPS.has(error.type)) return true;
  return error.type === "save_failed" && DISK_IS_OUT.has(errorCode(error.cause) ?? "");
}

/**
 * Takes one row as far as it goes: buys it, or goes on from where an earlier run left it.
 * @returns "held" while another process is at work on it
 * @throws the signal's reason, where nothing was begun
 */
export async function runRow(row: PlannedRow, run: BatchRun): Promise<RowEnd | "held"> {
  for (;;) {
    const step = await nextStep(row, run).catch((error: unknown) => troubled(row, error, run));
    if (step === "again") continue;
    if (step !== "held" && step.error && endsAll(step.error)) run.gate.stop(step.error);
    return step;
  }
}

/** One row's trouble, such as another account's task, is not the others'. */
function troubled(row: PlannedRow, error: unknown, { deps }: BatchRun): RowEnd {
  if (!(error instanceof ImggenError) || error === deps.signal.reason) throw error;
  return endedWithout("failed", row, error);
}

/** Whether another process was quicker, so that the row has to be looked at again. */
type Step = RowEnd | "held" | "again";

async function nextStep(row: PlannedRow, run: BatchRun): Promise<Step> {
  const id = row.attempts.at(-1);
  const entry = id === undefined ? null : await run.deps.ledger.read(id);
  if (standingOf(entry) === "new") return buyRow(row, entry === null ? (id ?? null) : null, run);
  if (entry?.kind !== "task") return unreadable(row, entry);
  const { record } = entry;
  return goOn(row, record, run).catch((error: unknown) => {
    if (!(error instanceof ImggenError) || error === run.deps.signal.reason) throw error;
    // Whatever went wrong now, what an earlier run has paid for it, or may have, is not undone.
    return ended(row, { ...reportOf(record), error }, false);
  });
}

/** Goes on with a row that has a task, from where that stands. */
async function goOn(row: PlannedRow, record: TaskRecord, run: BatchRun): Promise<Step> {
  switch (record.progress.status) {
    case "saved":
      return savedBefore(row, record, run);
    case "accepted":
    case "completed":
      return finishRow(row, record, run);
    case "intended":
    case "unknown":
    case "dismissed":
      return unknownRow(row, record, run);
    default:
      return ended(row, reportOf(record), false);
  }
}

/** @param begun the task that the row's latest claim names and nobody has begun; null claims a new one */
async function buyRow(row: PlannedRow, begun: string | null, run: BatchRun): Promise<Step> {
  const { deps, gate } = run;
  const pass = await gate.admit(deps.signal);
  if (pass === null) return notSent(row, gate.stopped ?? run.outage.error);
  try {
    const id = begun ?? (await claimRow(row, run));
    const order = { checked: row.checked, destination: destinationOf(row, run.place), wait: run.wait };
    const owned = await deps.ledger.beginAs(id, intentOf(order, deps));
    if (owned === "taken") return "again";
    const connection = { ...deps.connection, service: pass };
    const report = await buyOwned(owned, order, { ...deps, connection });
    if (!isOutage(report, run)) return ended(row, report, true);
    // It never left, and that is on the disk: it is bought when the service is back.
    run.outage.error = report.error;
    return "again";
  } finally {
    pass.release();
  }
}

function isOutage({ error, charged }: TaskReport, { deps, gate }: BatchRun): boolean {
  return error?.type === "network" && charged === "no" && gate.breaker.isDown && !deps.signal.aborted;
}

/** Claims the row's next attempt. @returns the task it goes by, be it ours or another process's */
async function claimRow(row: PlannedRow, { claims, deps }: BatchRun): Promise<string> {
  const id = await claims.claim(row.key, row.attempts.length + 1, deps.ledger.newId());
  row.attempts.push(id);
  return id;
}

async function finishRow(row: PlannedRow, record: TaskRecord, run: BatchRun): Promise<Step> {
  const owned = await run.deps.ledger.claim(record);
  if (owned === "held") return "held";
  if (owned === "finished") return finishedElsewhere(row, record, run);
  return ended(row, await finishOwned(owned, resumeOptions(row, run), resumeDeps(run)), false);
}

/** A task that was put away has come to an end; one that is where it was all the same has lost its last lines. */
async function finishedElsewhere(
  row: PlannedRow,
  { id, progress }: TaskRecord,
  run: BatchRun,
): Promise<Step> {
  const entry = await run.deps.ledger.read(id);
  const isCutOff = entry?.kind === "task" && entry.record.progress.status === progress.status;
  return isCutOff ? unreadable(row, entry) : "again";
}

async function unknownRow(row: PlannedRow, record: TaskRecord, run: BatchRun): Promise<Step> {
  if (record.progress.status === "dismissed" && record.progress.replacement !== null)
    return goOnAs(record.progress.replacement, row, run);
  if (record.progress.status !== "dismissed") {
    const owned = await run.deps.ledger.claim(record);
    if (owned === "held") return "held";
    if (owned === "finished") return finishedElsewhere(row, record, run);
    await owned.release().catch((error: unknown) => {
      throw new StateFolderError(run.deps.ledger.folder, error);
    });
    // It may have come further since it was read.
    if (!isUnknown(owned.record)) return "again";
    if (run.resubmitUnknown && !(await putAside(owned.record, run))) return "again";
  }
  if (run.resubmitUnknown) return buyRow(row, null, run);
  return leftUnknown(row, record);
}

/** The user bought the row again by other means: that task is the row's now. */
async function goOnAs(id: string, row: PlannedRow, { claims }: BatchRun): Promise<Step> {
  row.attempts.push(await claims.claim(row.key, row.attempts.length + 1, id));
  return "again";
}

/** Whether this process is the one that puts a request of unknown outcome aside, to buy it again. */
async function putAside(record: TaskRecord, { deps }: BatchRun): Promise<boolean> {
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
 * A saved row costs nothing more: its files are there, or they are fetched again. A file that was changed
 * since is its owner's.
 */
async function savedBefore(row: PlannedRow, record: TaskRecord, run: BatchRun): Promise<Step> {
  const report = reportOf(record);
  const there = await Promise.all(report.files.map(isThere));
  if (there.every(Boolean)) return savedEarlier(row, report);
  return ended(row, await resumeFound(record, resumeOptions(row, run), resumeDeps(run)), false);
}

async function isThere({ path }: SavedFile): Promise<boolean> {
  // Where the disk does not say, fetching it again does: what is still there is not saved twice.
  return path !== null && (await nameIsTaken(path).catch(() => false));
}

function resumeOptions(row: PlannedRow, { wait, place }: BatchRun): ResumeOptions {
  return { wait, destination: null, fallback: destinationOf(row, place) };
}

/** Tasks of earlier runs are waited for at the pace of all. */
function resumeDeps({ deps, gate }: BatchRun): ResumeDeps {
  const paced = { ...deps, connection: { ...deps.connection, service: new Pass(gate, null) } };
  return {
    ledger: deps.ledger,
    async depsFor(service, taskId) {
      if (service) requireSameAccount(service, deps.connection.identity, taskId);
      return paced;
    },
  };
}
