import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { type Generator, type GeneratorJob, TimeLimitError } from "../../generators/generator.ts";
import { type Clock, isoTime } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { Processes } from "../../lib/processes.ts";
import type { Admission } from "./admission.ts";
import { checkImage } from "./check-image.ts";
import type { RunningPhase } from "./entries.ts";
import { endOf, type RequestEnd, stepAfter } from "./request-end.ts";
import type { TaskFolder } from "./task-folder.ts";
import { isEnded, type OpenState, type StartedState } from "./task-state.ts";

/** For how much longer than a request may take its step is respected by other machines. */
const MARGIN_MS = 60_000;

export interface RequestDeps {
  generator: Generator;
  /** Whether this process takes every request for a paid one. */
  isPaid: boolean;
  /** The longest that one request may take. */
  timeoutMs: number;
  processes: Processes;
  clock: Clock;
}

/** Whether a request of this task may not be sent twice. */
export function isPaidTask({ task }: TaskFolder, { isPaid }: Pick<RequestDeps, "isPaid">): boolean {
  return task.isPaid || isPaid;
}

/** What happens to a request while it runs. */
interface RequestWatch {
  /** Gives it up, with a GivenUpError. */
  signal: AbortSignal;
  onProgress: (share: number) => void;
}

/**
 * Makes the next image of a queued task. What comes of the request is on disk once this returns.
 * @throws TakenOverError if another process continues the task; or the disk's error
 */
export async function makeImage(
  folder: TaskFolder,
  state: OpenState,
  deps: RequestDeps,
  { signal, onProgress }: RequestWatch,
): Promise<RequestEnd> {
  const { generator, timeoutMs, processes, clock } = deps;
  const nowMs = clock.now();
  const until = isoTime(nowMs + timeoutMs + MARGIN_MS);
  await folder.record({ type: "started", at: isoTime(nowMs), by: processes.self, until });
  folder.makeJobFolder();
  const end = await endOfWork(async () => {
    const image = await withinLimit(deps, signal, (limited) =>
      generator.generate(jobOf(folder, state), { signal: limited, onProgress }),
    );
    return checkImage(folder.folder, image);
  });
  await recordEnd(folder, state, end, deps);
  return end;
}

/**
 * What came of a request whose process ended before it did: its reply may have arrived to the last byte. It is on disk
 * once this returns. @throws as `makeImage`
 */
export async function recoverImage(
  folder: TaskFolder,
  state: StartedState,
  deps: RequestDeps,
): Promise<RequestEnd> {
  folder.makeJobFolder();
  const end = await endOfWork(async () => {
    const image = await deps.generator.recover(jobOf(folder, state));
    return image && checkImage(folder.folder, image);
  });
  await recordEnd(folder, state, end, deps);
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
  const { imageCount: _imageCount, isPaid: _isPaid, submittedAt: _submittedAt, ...job } = task;
  return { ...job, index: results.length, folder: jobFolder };
}

/** @throws TimeLimitError, or the signal's reason, where the work ends because of it */
async function withinLimit<Result>(
  { timeoutMs, clock }: Pick<RequestDeps, "timeoutMs" | "clock">,
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
  deps: RequestDeps,
): Promise<void> {
  const { jobFolder } = folder;
  const nowMs = deps.clock.now();
  const step = stepAfter(end, { isPaid: isPaidTask(folder, deps), retries, nowMs });
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
  deps: RequestDeps & { admission: Admission },
): Promise<RequestEnd | null> {
  const onProgress = (share: number) => {
    phase.share = share;
  };
  let end: RequestEnd | null = null;
  while (!isEnded(folder.state)) {
    const { results } = folder.state;
    phase.share = null;
    end = await makeImage(folder, folder.state, deps, { signal: phase.giveUp.signal, onProgress });
    await deps.admission.onEnd(end);
    const isAgain = !isEnded(folder.state) && folder.state.results.length === results.length;
    if (isAgain || isLate(end, folder, deps) || deps.admission.condition.name !== "open") break;
  }
  return end;
}

/** Whether a free generator may still be at work on a request that timed out. */
export function isLate(end: RequestEnd | null, folder: TaskFolder, deps: RequestDeps): boolean {
  return end?.kind === "timed out" && !isPaidTask(folder, deps);
}
