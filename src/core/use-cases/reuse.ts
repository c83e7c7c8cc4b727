import type { Ledger } from "../../store/ledger.ts";
import type { OwnedTask } from "../../store/owners.ts";
import { isResumable } from "../../task/lifecycle.ts";
import { chargedOf, isUnknown, type TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { identityOf, ofOneAccount, type TaskDeps } from "../deps.ts";
import { ClaimedError, interruptedError } from "../errors.ts";
import { isCopyOf } from "../images/copy-image.ts";
import { requireFree } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { pause } from "../polling/wait.ts";
import { requireRead } from "../task/continue.ts";
import { recoveryDestination } from "../task/finish-owned.ts";
import { reportOf, type TaskReport } from "../task/report.ts";
import { claimedElsewhere, resumeFound } from "../task/resume.ts";
import { copyOf } from "../task/save-again.ts";
import {
  firstAttemptMs,
  intentOf,
  patienceMs,
  type ResultSpec,
  submitAndFinish,
  type TaskSpec,
} from "../task/submit-and-finish.ts";

/** How often the task is read again while another process is working on it. */
const READ_AGAIN_MS = 100;

/**
 * Reuses an earlier task for the same request: finishes it if it is unfinished, copies its images where they are
 * wanted, and downloads them again if the files are gone. Waits for another process that is submitting the request or
 * finishing its task, and returns the same result. Submits nothing. If the only earlier task has an unknown outcome,
 * the report says so.
 * @returns null if the request was never charged
 * @throws UsageError if the images are wanted at a path that another file has
 */
export async function reuseEarlier(
  request: GenerationRequest,
  spec: ResultSpec,
  deps: TaskDeps,
): Promise<TaskReport | null> {
  const { clock, ledger } = deps;
  const { wait } = spec;
  const endMs = clock.monotonicMs() + patienceMs(wait, request);
  let isFirst = true;
  let record = await findReusable(request, deps);
  while (record !== null) {
    const leftMs = Math.max(0, endMs - clock.monotonicMs());
    const report = await reused(record, { ...spec, wait: wait && { ...wait, timeoutMs: leftMs } }, deps);
    if (!(report.error instanceof ClaimedError) || leftMs === 0) return { ...report, reused: true };
    if (isFirst) deps.onProgress({ type: "claimed_elsewhere", id: report.taskId ?? record.id });
    isFirst = false;
    if (!(await pause(Math.min(READ_AGAIN_MS, leftMs), deps)))
      return { ...report, error: interruptedError(deps.signal, report.charged), reused: true };
    const entry = await ledger.read(record.id);
    const isShared = entry?.kind === "task" && (isReusable(entry.record, ledger) || hasFailed(entry.record));
    record = isShared ? entry.record : await findReusable(request, deps);
  }
  return null;
}

/**
 * Generates, unless another process has begun the same request since `reuseEarlier` was asked; then that task is
 * reused.
 * @throws what `submitNew` throws
 */
export async function generateOrReuse(spec: TaskSpec, deps: TaskDeps): Promise<TaskReport> {
  await prepareDestination(spec.destination, deps.ledger.processes);
  for (;;) {
    deps.signal.throwIfAborted();
    const searchedMs = deps.clock.now();
    const earlier = await reuseEarlier(spec.checked.request, spec, deps);
    if (earlier !== null) return earlier;
    const owned = await beginNew(spec, searchedMs, deps);
    if (owned !== null) return submitAndFinish(owned, spec, deps);
  }
}

/** How long to wait while other processes search and begin: each takes milliseconds, on a slow disk perhaps a second. */
const MOST_WAIT_MS = 60_000;

/** Clocks are corrected now and then. */
const CLOCK_MARGIN_MS = 60_000;

/**
 * Begins a task, unless there is one to reuse by now: then null.
 * @param searchedMs when the whole ledger was searched: only what was begun since is searched again
 */
function beginNew(spec: TaskSpec, searchedMs: number, deps: TaskDeps): Promise<OwnedTask | null> {
  const { ledger, signal } = deps;
  const intent = intentOf(spec, deps);
  const begin = async (isKept: () => Promise<boolean>) => {
    const found = await findReusable(intent.request, deps, searchedMs - CLOCK_MARGIN_MS);
    if (found !== null) return null;
    const owned = await ledger.begin(intent, firstAttemptMs(deps));
    let kept = false;
    try {
      // A process that takes the claim over searches after that, so at least one of the two learns about the other.
      kept = await isKept();
      return kept ? owned : null;
    } finally {
      if (!kept) await ledger.withdraw(owned);
    }
  };
  const mostMs = Math.min(MOST_WAIT_MS, patienceMs(spec.wait, intent.request));
  return ledger.alone(intent, begin, { mostMs, signal });
}

async function reused(
  record: TaskRecord,
  { wait, destination }: ResultSpec,
  deps: TaskDeps,
): Promise<TaskReport> {
  const report = reportOf(record);
  const { ledger } = deps;
  if (ledger.isUnderWay(record)) return claimedElsewhere(record, ledger);
  if (isUnknown(record) || isSubmitting(record, ledger) || hasFailed(record)) return report;
  if (destination.kind === "file") {
    const [first] = report.files;
    // Its own copy is not in the way of an image.
    if (!first || !(await isCopyOf(destination.path, first))) await requireFree(destination);
    if (record.state.name === "saved") return copyOf(record.state, destination, wait, report, deps);
  }
  if (wait === null) return { ...report, isAwaited: report.files.length > 0 };
  // Bytes that went to standard output are nowhere now.
  const isGone = report.files.some(({ path }) => path === null);
  const own = isGone ? recoveryDestination(record.intent.destination) : null;
  const wanted = destination.kind === "folder" ? own : destination;
  // It is a task of the same account.
  return resumeFound(record, { wait, destination: wanted }, ofOneAccount(deps));
}

/** Whether a process is submitting it, or waits to submit it again. */
function isSubmitting(record: TaskRecord, ledger: Ledger): boolean {
  const { state } = record;
  return state.name === "rate_limited" ? !state.isOwnerGone : ledger.isUnderWay(record);
}

function isReusable(record: TaskRecord, ledger: Ledger): boolean {
  return isThere(record) || isUnknown(record) || isSubmitting(record, ledger);
}

/** Whether a task has its image, or will have it. */
function isThere(record: TaskRecord): boolean {
  return record.state.name === "saved" || isResumable(record.state.name) || chargedOf(record) === "yes";
}

/** Whether it failed. A process that waited for it reports the failure, instead of submitting the request again. */
function hasFailed({ state }: TaskRecord): boolean {
  return state.name === "failed";
}

/** The newest task that was accepted, else the newest that may be. @param sinceMs as of `sameRequest` */
async function findReusable(
  request: GenerationRequest,
  { connection, ledger }: Pick<TaskDeps, "connection" | "ledger">,
  sinceMs?: number,
): Promise<TaskRecord | null> {
  let maybe: TaskRecord | null = null;
  for await (const record of ledger.sameRequest(identityOf(request, connection), sinceMs, requireRead)) {
    if (ledger.isCancelled(record)) continue;
    if (isThere(record)) return record;
    if (isReusable(record, ledger)) maybe ??= record;
  }
  return maybe;
}
