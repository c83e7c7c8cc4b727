import { prepareAddressCheck } from "../../api/address.ts";
import { isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import type { OwnedTask } from "../../store/owners.ts";
import type { Destination, Intent } from "../../task/intent.ts";
import type { CheckedRequest, GenerationRequest } from "../../task/request.ts";
import type { TaskDeps } from "../deps.ts";
import { NotLoadedError, TakenOverError } from "../errors.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { overDailyLimit } from "../limits/budget.ts";
import { type WaitSettings, waitTimeoutMs } from "../polling/wait.ts";
import { jobOf } from "./jobs.ts";
import { factsOf, type TaskReport } from "./report.ts";
import { type SubmitResult, type SubmitSpec, submitOnce } from "./submit-once.ts";
import { coverMs, TaskWriter, WAIT_MS } from "./task-writer.ts";

/** What to do with the result of a request. */
export interface ResultSpec {
  destination: Destination;
  /** null: return once the service has accepted the task. */
  wait: WaitSettings | null;
}

export interface TaskSpec extends ResultSpec {
  checked: CheckedRequest;
}

// Without a wait there is no deadline to compare a Retry-After with.
const PATIENCE_WITHOUT_WAIT_MS = 180_000;

/**
 * Submits one request and saves its images. The order of writes keeps money and files safe: intent on disk, submit,
 * answer on disk, and only then anything else.
 * @throws SaveFailedError if the output or state folder is unusable; then nothing was sent. Errors from the submit on
 *   are in the report.
 */
export async function submitNew(spec: TaskSpec, deps: TaskDeps): Promise<TaskReport> {
  // Beside the writes to the disk, so that it takes no time of its own.
  if (spec.wait !== null) void loadEnd(deps);
  await prepareDestination(spec.destination);
  deps.signal.throwIfAborted();
  return submitAndFinish(await deps.ledger.begin(intentOf(spec, deps), firstAttemptMs(deps)), spec, deps);
}

/** The intent that is recorded before a request is submitted. */
export function intentOf({ checked, destination }: TaskSpec, { connection }: TaskDeps): Intent {
  const { request, credits, staysPaid } = checked;
  const { identity: service, generator } = connection;
  const work = generator?.workFor(request);
  return {
    request,
    service,
    credits,
    destination,
    ...(work && { work: { ...work, isPaid: staysPaid ?? work.isPaid } }),
  };
}

/** For how long an intent covers the first attempt to submit it, or the wait for its turn. */
export function firstAttemptMs({ connection }: Pick<TaskDeps, "connection">): number {
  return connection.generator ? WAIT_MS : coverMs(connection.provider.limits.submitMs);
}

/**
 * Submits a request whose intent is on disk, and saves its result. Whatever happens is in the report.
 * @param overBudget asked before it is sent; an error keeps it from being sent
 */
export async function submitAndFinish(
  owned: OwnedTask,
  spec: TaskSpec,
  deps: TaskDeps,
  overBudget: () => Promise<ImggenError | null> = async () => null,
): Promise<TaskReport> {
  const { request } = owned.record.intent;
  const warnings = [...spec.checked.warnings];
  const writer = new TaskWriter(deps.ledger, owned, (message) => {
    warnings.push(message);
    deps.onProgress({ type: "ledger_warning", message });
  });
  const missing = spec.wait === null ? null : await loadEnd(deps);
  const kept = missing ?? (await overDailyLimit(owned.record, deps)) ?? (await overBudget());
  const { downloads } = deps.connection;
  // Before it is sent, that would delay the submit, and polls can do without.
  const onSent = () => void (spec.wait !== null && setImmediate(() => void downloads.prepareShared()));
  if (owned.record.intent.work) {
    const { destination, wait } = spec;
    const taskId = owned.record.intent.work.taskId;
    const task = {
      taskId,
      writer,
      destination,
      acceptedAtMs: deps.clock.now(),
      recovering: false,
      saved: [],
    };
    const { workOff } = await import("./work-off.ts");
    return workOff(task, { wait, onSent }, warnings, deps, kept);
  }
  const result: SubmitResult = kept
    ? { outcome: "not_sent", error: kept }
    : await submitOnce(submitSpec(spec, request, writer, deps), { ...deps, onSent });
  return settle(result, spec, writer, warnings, deps);
}

/** After a signal, how long to wait for the id that a running submit may bring, in milliseconds. */
const GRACE_MS = 10_000;

/** How a request to the hosted service is submitted. */
function submitSpec(
  { wait }: TaskSpec,
  request: GenerationRequest,
  writer: TaskWriter,
  { ledger }: TaskDeps,
): SubmitSpec {
  return {
    job: jobOf(writer.record, 0, ledger.work),
    log: {
      begin: (submitMs) => writer.beginAttempt(submitMs),
      rateLimited: (why, waitMs) => writer.rateLimited(why, waitMs),
      // The next attempt says so itself.
      again: async () => {},
    },
    turn: null,
    patienceMs: patienceMs(wait, request),
    lostRetries: 0,
    limitMs: null,
    timeoutMs: null,
    graceMs: GRACE_MS,
  };
}

/** How long to wait for a request, milliseconds: for its result, or without a wait for its acceptance. */
export function patienceMs(wait: WaitSettings | null, request: GenerationRequest): number {
  return wait ? waitTimeoutMs(wait, request) : PATIENCE_WITHOUT_WAIT_MS;
}

async function settle(
  result: SubmitResult,
  spec: TaskSpec,
  writer: TaskWriter,
  warnings: string[],
  deps: TaskDeps,
): Promise<TaskReport> {
  const acceptedAtMs = deps.clock.now();
  if (result.outcome === "made") throw new TypeError("the hosted service answers with an id");
  if (result.outcome !== "accepted") return recordNoTask(result, writer, warnings, deps);
  const { taskId } = result;
  // Before anything else, printing included: an id that is only on the screen is lost if the process ends.
  await writer.write({ type: "accepted", at: isoTime(acceptedAtMs), taskId });
  deps.onProgress({ type: "accepted", taskId });
  const accepted: TaskReport = { ...factsOf(writer.record), warnings };
  if (spec.wait === null) {
    await writer.release();
    return { ...accepted, isAwaited: false };
  }
  const { destination, wait } = spec;
  const task = { taskId, writer, destination, acceptedAtMs, recovering: false, saved: [] };
  const { finishTask } = await import("./finish.ts");
  return finishTask(task, accepted, wait, deps);
}

/**
 * Loads what takes a task from its submit to its images. It must be there before anything can be charged: files of the
 * program may be missing, as in an upgrade. Never throws. @returns why it cannot be loaded
 */
async function loadEnd({ connection }: TaskDeps): Promise<ImggenError | null> {
  try {
    const end = connection.generator ? import("./work-off.ts") : import("./finish.ts");
    await Promise.all([end, prepareAddressCheck()]);
    return null;
  } catch (cause) {
    return new NotLoadedError("A part of imggen could not be loaded: was it updated meanwhile?", {
      hint: "Nothing was sent. Run the same command again; if that does not help, install imggen again.",
      cause,
    });
  }
}

async function recordNoTask(
  result: Exclude<SubmitResult, { outcome: "accepted" | "made" }>,
  writer: TaskWriter,
  warnings: string[],
  deps: TaskDeps,
): Promise<TaskReport> {
  const { outcome, error } = result;
  const at = isoTime(deps.clock.now());
  const report = (): TaskReport => ({ ...factsOf(writer.record), warnings, error });
  if (outcome === "unknown") {
    const { excerpt } = result.reply;
    await writer.write({ type: "unknown", at, why: error.message, ...(excerpt !== null && { excerpt }) });
    await writer.release();
    return report();
  }
  const { type, key, message } = error;
  if (outcome === "refused") await writer.write({ type: "refused", at, error: { type, key, message } });
  else await writer.write({ type: "not_sent", at, why: message });
  // A process that took the task over also finishes it.
  if (error instanceof TakenOverError) await writer.release();
  else await writer.finish();
  return report();
}
