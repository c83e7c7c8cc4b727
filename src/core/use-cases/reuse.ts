import type { OwnedTask } from "../../store/owners.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { ofOneAccount, type TaskDeps } from "../engine/deps.ts";
import { ClaimedError, interruptedError } from "../engine/errors.ts";
import { isCopyOf } from "../images/copy-image.ts";
import { requireFree } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { pause } from "../polling/wait.ts";
import { recoveryDestination } from "../task/finish-owned.ts";
import { reportOf, type TaskReport } from "../engine/report.ts";
import { claimedElsewhere, resumeFound } from "../task/resume-task.ts";
import { classify, everyTaskFor, type IdenticalTask } from "../task/same-request.ts";
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
  let task = await findReusable(request, deps);
  while (task !== null) {
    const { id } = task.record;
    const leftMs = Math.max(0, endMs - clock.monotonicMs());
    const report = await reused(task, { ...spec, wait: wait && { ...wait, timeoutMs: leftMs } }, deps);
    if (!(report.error instanceof ClaimedError) || leftMs === 0) return { ...report, reused: true };
    if (isFirst) deps.onProgress({ type: "claimed_elsewhere", id: report.taskId ?? id });
    isFirst = false;
    if (!(await pause(Math.min(READ_AGAIN_MS, leftMs), deps)))
      return { ...report, error: interruptedError(deps.signal, report.charged), reused: true };
    const entry = await ledger.read(id);
    const now = entry?.kind === "task" ? classify(await ledger.asItStands(entry.record), ledger) : null;
    // Whoever waited for a task reports its failure too, instead of submitting the request again.
    const isShared = now !== null && (now.kind === "failed" || ANSWERS[now.kind] !== "no");
    task = isShared ? now : await findReusable(request, deps);
  }
  return null;
}

/**
 * Generates, unless another process has begun the same request since `reuseEarlier` was asked; then that task is
 * reused.
 * @throws what `submitNew` throws
 */
export async function generateOrReuse(spec: TaskSpec, deps: TaskDeps): Promise<TaskReport> {
  await prepareDestination(spec.destination);
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

async function reused(task: IdenticalTask, spec: ResultSpec, deps: TaskDeps): Promise<TaskReport> {
  const { record } = task;
  const report = reportOf(record);
  switch (task.kind) {
    case "under_way":
    case "submitting":
    case "out_of_sight":
      // Of one that waits to be submitted again, its file says why it waits.
      return report.error instanceof ClaimedError ? report : claimedElsewhere(record, deps.ledger);
    case "unknown":
    case "failed":
    case "cancelled":
    case "none":
      return report;
    case "saved":
      return obtained(task, spec, report, deps);
    case "resumable":
      return task.isPartlyUnknown ? report : obtained(task, spec, report, deps);
  }
}

/** The images of a task that has them, or can be finished, where they are wanted. */
async function obtained(
  task: Extract<IdenticalTask, { kind: "saved" | "resumable" }>,
  { wait, destination }: ResultSpec,
  report: TaskReport,
  deps: TaskDeps,
): Promise<TaskReport> {
  if (destination.kind === "file") {
    const [first] = report.files;
    // Its own copy is not in the way of an image.
    if (!first || !(await isCopyOf(destination.path, first))) await requireFree(destination);
    if (task.kind === "saved") return copyOf(task.record, task.state, destination, wait, deps);
  }
  if (wait === null) return { ...report, isAwaited: report.files.length > 0 };
  // Bytes that went to standard output are nowhere now.
  const isGone = report.files.some(({ path }) => path === null);
  const itsPlace = isGone ? recoveryDestination(task.record.intent.destination) : null;
  // It is a task of the same account.
  const options = { wait, destination: destination.kind === "folder" ? itsPlace : destination };
  return resumeFound(task.record, options, ofOneAccount(deps));
}

/** Whether a task answers for its request: it has its images or will have them; or perhaps it may have them. */
const ANSWERS: Readonly<Record<IdenticalTask["kind"], "yes" | "perhaps" | "no">> = {
  saved: "yes",
  resumable: "yes",
  under_way: "yes",
  submitting: "perhaps",
  out_of_sight: "perhaps",
  unknown: "perhaps",
  failed: "no",
  cancelled: "no",
  none: "no",
};

/** The newest task that answers for a request, else the newest that may. @param sinceMs as of `everyTaskFor` */
async function findReusable(
  request: GenerationRequest,
  deps: TaskDeps,
  sinceMs?: number,
): Promise<IdenticalTask | null> {
  let perhaps: IdenticalTask | null = null;
  for await (const task of everyTaskFor(request, deps, sinceMs)) {
    const answer = ANSWERS[task.kind];
    if (answer === "yes") return task;
    if (answer === "perhaps") perhaps ??= task;
  }
  return perhaps;
}
