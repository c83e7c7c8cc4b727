import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { isoTime } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import { type GeneratorJob, TimeLimitError } from "../../providers/generator.ts";
import type { Admission } from "./admission.ts";
import { checkImage } from "./check-image.ts";
import type { QueueContext } from "./context.ts";
import type { RunningPhase } from "./entries.ts";
import { endOf, type RequestEnd, stepAfter } from "./request-end.ts";
import type { TaskFolder } from "./task-folder.ts";
import { isEnded, type OpenState, type StartedState } from "./task-state.ts";

/** For how much longer than a request may take its step is respected by other machines. */
const MARGIN_MS = 60_000;

/** Whether a request of this task may not be sent twice. */
export function isPaidTask({ task }: TaskFolder, { options }: Pick<QueueContext, "options">): boolean {
  return task.isPaid || options.isPaid;
}

/**
 * Makes the next image of a queued task. What comes of the request is on disk once this returns.
 * @throws TakenOverError if another process continues the task; or the disk's error
 */
async function makeImage(
  folder: TaskFolder,
  state: OpenState,
  phase: RunningPhase,
  context: QueueContext,
): Promise<RequestEnd> {
  const { generator, options, processes, clock } = context;
  const nowMs = clock.now();
  const until = isoTime(nowMs + options.timeoutMs + MARGIN_MS);
  const onProgress = (share: number) => {
    phase.share = share;
  };
  await folder.record({ type: "started", at: isoTime(nowMs), by: processes.self, until });
  folder.makeJobFolder();
  const end = await endOfWork(async () => {
    const image = await withinLimit(context, phase.giveUp.signal, (signal) =>
      generator.generate(jobOf(folder, state), { signal, onProgress }),
    );
    return checkImage(folder.folder, image);
  });
  await recordEnd(folder, state, end, context);
  return end;
}

/**
 * What came of a request whose process ended before it did: its reply may have arrived to the last byte. It is on disk
 * once this returns. @throws as `makeImage`
 */
export async function recoverImage(
  folder: TaskFolder,
  state: StartedState,
  context: QueueContext,
): Promise<RequestEnd> {
  folder.makeJobFolder();
  const end = await endOfWork(async () => {
    const image = await context.generator.recover(jobOf(folder, state));
    return image && checkImage(folder.folder, image);
  });
  await recordEnd(folder, state, end, context);
  return end;
}

async function endOfWork(
  work: () => Promise<Extract<RequestEnd, { kind: "image" }>["image"] | null>,
): Promise<RequestEnd> {
  try {
    const image = await work();
    return image === null ? { kind: "killed" } : { kind: "image", image };
  } catch (error) {
    return endOf(error);
  }
}

function jobOf({ task, jobFolder }: TaskFolder, { results }: OpenState): GeneratorJob {
  return { ...task, index: results.length, folder: jobFolder };
}

/** @throws TimeLimitError, or the signal's reason, where the work ends because of it */
async function withinLimit<Result>(
  { options: { timeoutMs }, clock }: Pick<QueueContext, "options" | "clock">,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const [limit, done] = [new AbortController(), new AbortController()];
  const reason = new TimeLimitError(`The generator did not answer within ${formatDuration(timeoutMs)}.`);
  clock.sleep(timeoutMs, done.signal).then(
    () => limit.abort(reason),
    () => {},
  );
  const limited = AbortSignal.any([signal, limit.signal]);
  try {
    return await work(limited);
  } catch (error) {
    // However the generator words that it was stopped. What it has definitely answered counts all the same.
    throw limited.aborted && isOfUnknownFate(endOf(error)) ? limited.reason : error;
  } finally {
    done.abort();
  }
}

function isOfUnknownFate(end: RequestEnd): boolean {
  return end.kind !== "error" || end.failure.kind === "lost";
}

async function recordEnd(
  folder: TaskFolder,
  { retries }: OpenState,
  end: RequestEnd,
  context: QueueContext,
): Promise<void> {
  const { jobFolder } = folder;
  const nowMs = context.clock.now();
  const step = stepAfter(end, { isPaid: isPaidTask(folder, context), retries, nowMs });
  await folder.record(step);
  if (step.type === "image") removeOthers(jobFolder, step.image.file);
  // What is left of a request of unknown fate may be of use.
  else if (step.type === "requeued" || step.failure.outcome === "refused") removeFolder(jobFolder);
}

/** Removes what else a request left beside its image. @param image below the task's folder */
function removeOthers(jobFolder: string, image: string): void {
  const [, kept] = image.split("/");
  for (const name of readdirSync(jobFolder)) if (name !== kept) removeFolder(path.join(jobFolder, name));
}

/** Removes a folder or a file. What cannot be removed does no harm. */
function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // It stays.
  }
}

/**
 * Makes the images of a task, one after the other, until it has all of them, or one is to be asked for again, or no request
 * may be sent.
 * @returns how the last request ended. @throws as `makeImage`
 */
export async function makeImages(
  folder: TaskFolder,
  phase: RunningPhase,
  admission: Admission,
  context: QueueContext,
): Promise<RequestEnd | null> {
  let end: RequestEnd | null = null;
  while (!isEnded(folder.state)) {
    const { results } = folder.state;
    phase.share = null;
    end = await makeImage(folder, folder.state, phase, context);
    await admission.onEnd(end);
    const isAgain = !isEnded(folder.state) && folder.state.results.length === results.length;
    if (isAgain || isLate(end, folder, context) || admission.condition.name !== "open") break;
  }
  return end;
}

/** Whether a free generator may still be at work on a request that timed out. */
export function isLate(
  end: RequestEnd | null,
  folder: TaskFolder,
  context: Pick<QueueContext, "options">,
): boolean {
  return end?.kind === "timed out" && !isPaidTask(folder, context);
}
