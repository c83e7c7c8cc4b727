import { stat } from "node:fs/promises";
import { NetworkError, OutcomeUnknownError } from "../../api/errors.ts";
import { type ErrorType, ImggenError } from "../../lib/errors.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import type { LedgerEntry } from "../../store/ledger-entry.ts";
import { isUnknown, type SavedFile, type TaskRecord } from "../../store/task.ts";
import { requireSameAccount } from "../account.ts";
import type { TaskDeps } from "../deps.ts";
import { buyOwned, intentOf } from "../generate.ts";
import { reportOf, type TaskReport } from "../report.ts";
import { finishOwned, type ResumeDeps, type ResumeOptions, resumeFound } from "../resume.ts";
import { dismissTask } from "../settle.ts";
import type { WaitSettings } from "../wait-settings.ts";
import { driftWarnings } from "./drift.ts";
import { type Gate, Pass } from "./gate.ts";
import type { PlannedRow } from "./plan.ts";
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

/** How a row ended. `skipped` was saved by an earlier run. */
export interface RowEnd {
  row: PlannedRow;
  outcome: "saved" | "skipped" | "failed" | "unknown" | "pending" | "not_sent";
  /** null for a row of which nothing was begun. */
  report: TaskReport | null;
  error: ImggenError | null;
  /** Whether this run bought it, or tried to. */
  bought: boolean;
  /** Where the images differ from what was asked. */
  drift: string[];
}

/** Errors that say of the account, or of its limits, that no further row can be bought. */
const STOPS: ReadonlySet<ErrorType> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
  "budget_exceeded",
]);

/**
 * Takes one row as far as it goes: buys it, or goes on from where an earlier run left it.
 * @returns "held" while another process is at work on it
 * @throws the signal's reason, where nothing was begun
 */
export async function runRow(row: PlannedRow, run: BatchRun): Promise<RowEnd | "held"> {
  for (;;) {
    const step = await nextStep(row, run).catch((error: unknown) => troubled(row, error, run));
    if (step === "again") continue;
    if (step !== "held" && step.error && STOPS.has(step.error.type)) run.gate.stop(step.error);
    return step;
  }
}

/** One row's trouble, such as another account's task, is not the others'. */
function troubled(row: PlannedRow, error: unknown, { deps }: BatchRun): RowEnd {
  if (!(error instanceof ImggenError) || error === deps.signal.reason) throw error;
  return { row, outcome: "failed", report: null, error, bought: false, drift: [] };
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
    if (run.resubmitUnknown) await dismissTask(owned.record, "resubmitted by the user", run.deps);
  }
  return run.resubmitUnknown ? buyRow(row, null, run) : ended(row, reportOf(record), false);
}

/** A saved row costs nothing more: its files are there, or they are fetched again. */
async function savedBefore(row: PlannedRow, record: TaskRecord, run: BatchRun): Promise<Step> {
  const report = reportOf(record);
  const there = await Promise.all(report.files.map(isThere));
  if (there.every(Boolean)) return { row, outcome: "skipped", report, error: null, bought: false, drift: [] };
  return ended(row, await resumeFound(record, resumeOptions(row, run), resumeDeps(run)), false);
}

async function isThere({ path, bytes }: SavedFile): Promise<boolean> {
  return path !== null && (await stat(path).catch(() => null))?.size === bytes;
}

function resumeOptions(row: PlannedRow, { wait, place }: BatchRun): ResumeOptions {
  return { wait, destination: null, fallback: destinationOf(row, place) };
}

/** Tasks of earlier runs are waited for at the pace of all. */
function resumeDeps({ deps, gate }: BatchRun): ResumeDeps {
  const paced = { ...deps, connection: { ...deps.connection, service: new Pass(gate, false) } };
  return {
    ledger: deps.ledger,
    async depsFor(service, taskId) {
      if (service) requireSameAccount(service, deps.connection.identity, taskId);
      return paced;
    },
  };
}

function ended(row: PlannedRow, report: TaskReport, bought: boolean): RowEnd {
  const drift = driftWarnings(report);
  const warnings = [...report.warnings, ...drift];
  return {
    row,
    outcome: outcomeOf(report),
    report: { ...report, warnings },
    error: report.error,
    bought,
    drift,
  };
}

function outcomeOf(report: TaskReport): RowEnd["outcome"] {
  if (report.status === "unknown") return "unknown";
  if (report.error === null) return "saved";
  return report.resumable ? "pending" : "failed";
}

function notSent(row: PlannedRow, stopped: ImggenError | null): RowEnd {
  const error = stopped ?? new NetworkError("The service cannot be reached; this row was not sent.");
  return { row, outcome: "not_sent", report: null, error, bought: false, drift: [] };
}

/** A task's file that cannot be read: it may well have been bought, so it is left to the user. */
function unreadable(row: PlannedRow, entry: LedgerEntry | null): RowEnd {
  const error = new OutcomeUnknownError(`What became of this row cannot be read: ${entry?.file}.`);
  return { row, outcome: "unknown", report: null, error, bought: false, drift: [] };
}
