import { errorCode } from "../../lib/error-code.ts";
import { type ErrorType, ImggenError, UsageError } from "../../lib/errors.ts";
import { nameIsTaken } from "../../lib/publish.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import { isUnknown, type SavedFile, type TaskRecord } from "../../store/task.ts";
import { requireSameAccount } from "../account.ts";
import type { TaskDeps } from "../deps.ts";
import { PendingError } from "../errors.ts";
import { buyOwned, intentOf } from "../generate.ts";
import { reportOf } from "../report.ts";
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
  if (pass === null) return notSent(row, gate.stopped);
  try {
    const id = begun ?? (await claimRow(row, run));
    const order = { checked: row.checked, destination: destinationOf(row, run.place), wait: run.wait };
    const owned = await deps.ledger.beginAs(id, intentOf(order, deps));
    if (owned === "taken") return "again";
    const connection = { ...deps.connection, service: pass };
    return ended(row, await buyOwned(owned, order, { ...deps, connection }), true);
  } finally {
    pass.release();
  }
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
  if (owned === "finished") return "again";
  return ended(row, await finishOwned(owned, resumeOptions(row, run), resumeDeps(run)), false);
}

async function unknownRow(row: PlannedRow, record: TaskRecord, run: BatchRun): Promise<Step> {
  if (record.progress.status !== "dismissed") {
    const owned = await run.deps.ledger.claim(record);
    if (owned === "held") return "held";
    if (owned === "finished") return "again";
    await owned.release();
    // It may have come further since it was read.
    if (!isUnknown(owned.record)) return "again";
    if (run.resubmitUnknown && !(await putAside(owned.record, run))) return "again";
  }
  if (run.resubmitUnknown) return buyRow(row, null, run);
  return leftUnknown(row, record);
}

/** Whether this process is the one that puts a request of unknown outcome aside, to buy it again. */
async function putAside(record: TaskRecord, { deps }: BatchRun): Promise<boolean> {
  try {
    await dismissTask(record, "resubmitted by the user", deps);
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
  return path !== null && (await nameIsTaken(path));
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
