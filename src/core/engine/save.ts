import { isoTime } from "../../lib/clock.ts";
import { isPresent } from "../../lib/durable.ts";
import { ImggenError } from "../../lib/error-types.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { Job, Provider } from "../../providers/provider.ts";
import type { Destination } from "../../task/intent.ts";
import { seedAt } from "../../task/line.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import {
  displayId,
  filesByIndex,
  getAnswer,
  getSavedFiles,
  isUnknown,
  requestFiles,
  type Task,
} from "../../task/task.ts";
import { diskFailure } from "../images/download-image.ts";
import type { ImageSource, SeededImage, UrlImage } from "../images/image-source.ts";
import { remarksOn } from "../images/remarks.ts";
import { saveImages } from "../images/save-images.ts";
import type { SaveResult, SaveSpec, SidecarFacts } from "../images/save-spec.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import type { TaskDeps } from "./deps.ts";
import { recordGone } from "./follow-job.ts";
import { createJob } from "./jobs.ts";
import { type TaskReport, taskFacts } from "./report.ts";

export interface SaveGoal {
  destination: Destination;
  /** Whether --overwrite also replaces files newer than the task. True if the user gave a destination for this run. */
  replacesNewer: boolean;
  isContinued: boolean;
  /** Whether to save all images in this destination, including images that are already saved elsewhere. */
  isOtherDestination: boolean;
}

interface SavingSpec extends Omit<SaveGoal, "isContinued" | "isOtherDestination"> {
  taskId: string;
  /** Ledger id of the task if this process has claimed it, otherwise null. */
  claimedTaskId: string | null;
  request: GenerationRequest | null;
  facts: SidecarFacts | null;
  /** Time of the submit, in milliseconds since the epoch. */
  sinceMs: number;
  sources: readonly ImageSource[];
  savedFiles: readonly (SavedFile | null)[];
  copies: readonly (SavedFile | null)[];
  recovering: boolean;
}

interface SaveOutcome {
  result: SaveResult;
  failure: ImggenError | null;
}

export async function saveSources(spec: SavingSpec, deps: TaskDeps): Promise<SaveOutcome> {
  const result: SaveResult = { files: [], imageCounts: [], warnings: [], bad: [], gone: [], rest: [] };
  const { sinceMs, replacesNewer, ...facts } = spec;
  const saving: SaveSpec = {
    ...facts,
    date: new Date(sinceMs),
    keepsSinceMs: replacesNewer ? Number.POSITIVE_INFINITY : sinceMs,
  };
  try {
    await saveImages(saving, result, deps);
    return { result, failure: null };
  } catch (error) {
    const failure = deps.signal.aborted ? interruptedError(deps.signal, "yes") : error;
    if (!(failure instanceof ImggenError)) throw failure;
    return { result, failure };
  }
}

/**
 * Saves the images of completed requests, and records unusable ones.
 * @param requests indexes of the requests to save; null for all, after which the task can be recorded as saved
 */
export async function saveCompleted(
  claimedTask: ClaimedTask,
  goal: SaveGoal,
  requests: ReadonlySet<number> | null,
  deps: TaskDeps,
): Promise<{ warnings: string[]; failure: ImggenError | null }> {
  const { task } = claimedTask;
  const report = taskFacts(task);
  const { result, failure } = await saveSources(
    {
      ...goal,
      taskId: displayId(task),
      claimedTaskId: task.id,
      request: task.intent.request,
      facts: sidecarFacts(report, deps),
      sinceMs: Date.parse(task.submittedAt),
      sources: imageSources(task, requests, deps),
      // All images are saved again if the destination is not the task's.
      savedFiles: goal.isOtherDestination ? [] : filesByIndex(task),
      copies: [],
      recovering: goal.isContinued,
    },
    deps,
  );
  const isLast = requests === null;
  const keepFailure = await keepUnsavedReplies(claimedTask, result, deps);
  for (const { request, why } of result.bad) await recordUnusable(claimedTask, request, why, deps);
  for (const { request, why } of result.gone) await recordGone(claimedTask, request, why, deps);
  const warnings = [
    ...result.warnings,
    ...(isLast ? remarksOn(claimedTask.task, getSavedFiles(result)) : []),
  ];
  await recordFiles(claimedTask, result, isLast && failure === null && keepFailure === null, deps);
  return { warnings, failure: failure ?? keepFailure };
}

/** Records the saved images and the number of images of each reply, so that a later run saves only missing ones. */
async function recordFiles(
  claimedTask: ClaimedTask,
  { files, imageCounts }: SaveResult,
  isComplete: boolean,
  { clock }: TaskDeps,
): Promise<void> {
  // Without a file, the reply is opened again anyway.
  if (files.every((file) => file === null)) return;
  const { task } = claimedTask;
  const hasNewFile = files.some((file, index) => file !== null && file !== task.files[index]);
  const hasNewCount = imageCounts.some((count, request) => count > 0 && count !== task.imageCounts[request]);
  const at = isoTime(clock.now());
  if (isComplete && !isUnknown(task)) await claimedTask.record({ type: "saved", at, files });
  else if (hasNewFile || hasNewCount)
    await claimedTask.record({ type: "partly_saved", at, files, imageCounts });
}

function imageSources(
  task: Task,
  requests: ReadonlySet<number> | null,
  { connection, ledger }: TaskDeps,
): ImageSource[] {
  const { provider } = connection;
  return task.requests.map((requestState, request): ImageSource => {
    const completion = getAnswer(requestState, "completed");
    const { attempt } = requestState;
    const isWanted = requests?.has(request) ?? true;
    if (!isWanted || completion === null || attempt === null) return { kind: "skipped" };
    const job = createJob(task, request, attempt.name, ledger.work);
    const sentSeed = provider.getSeed?.(job) ?? null;
    const getSeed = (at: number) => seedAt(completion.seeds, at) ?? sentSeed;
    if (completion.urls.length > 0) {
      const images = completion.urls.map(
        (url, at): UrlImage => ({
          kind: "url",
          url,
          headers: provider.downloadHeaders,
          seed: getSeed(at),
          freshUrl: () => pollUrl(job, attempt.accepted?.id, at, provider),
        }),
      );
      return { kind: "urls", images };
    }
    const files = requestFiles(task, request);
    const hasReply =
      ledger.work.hasReply(task.id, request, attempt.name) || job.fallbackFiles?.some(mayBePresent);
    // The stored replies of an ended task were deleted, so its saved files are its only images.
    if (files[0] && !hasReply) return { kind: "saved", files };
    return { kind: "reply", read: () => readStoredImages(job, provider, getSeed) };
  });
}

/** Returns true on a disk error too, because reading the file reports the error. */
function mayBePresent(file: string): boolean {
  try {
    return isPresent(file);
  } catch {
    return true;
  }
}

export async function readStoredImages(
  job: Job,
  provider: Provider,
  getSeed: (at: number) => WholeNumber | null,
): Promise<SeededImage[]> {
  const images = (await provider.images?.(job)) ?? [];
  return images.map((image, at) => ({ image, seed: getSeed(at) }));
}

/** Polls for the URL of an image. @param at index of the image in its job, from 0 */
async function pollUrl(
  job: Job,
  id: string | undefined,
  at: number,
  provider: Provider,
): Promise<string | null> {
  if (id === undefined) return null;
  const reply = await provider.poll?.(id, { job, signal: new AbortController().signal });
  if (reply?.outcome !== "state" || reply.task.status !== "completed") return null;
  return reply.task.urls[at] ?? null;
}

/**
 * Copies replies with more images than are saved to a folder that only the user removes.
 * @returns the first disk error, or null
 */
async function keepUnsavedReplies(
  { task: { id, requests } }: ClaimedTask,
  { rest, warnings, imageCounts }: SaveResult,
  { ledger }: TaskDeps,
): Promise<ImggenError | null> {
  let failure: ImggenError | null = null;
  for (const { request, count } of rest) {
    const attempt = requests[request]?.attempt?.name ?? "";
    const completion = requests[request] && getAnswer(requests[request], "completed");
    let folder: string;
    try {
      folder = await ledger.work.keep(id, request, attempt, completion?.kept);
    } catch (error) {
      // Recorded as unknown, so that the task stays open and its reply is not deleted.
      imageCounts[request] = 0;
      failure ??= diskFailure(ledger.work.attemptFolder(id, request, attempt), error);
      continue;
    }
    const isOne = count === 1;
    const imagesWere = isOne ? "1 more image was" : `${count} more images were`;
    const subject = isOne ? "It is" : "They are";
    warnings.push(
      `${imagesWere} received but not saved. ${subject} kept in ${folder} until you remove that folder.`,
    );
  }
  return failure;
}

/** Records that a result cannot be saved as an image. Does not delete the result of a paid request or of a job. */
async function recordUnusable(
  claimedTask: ClaimedTask,
  request: number,
  why: string,
  deps: TaskDeps,
): Promise<void> {
  const { id, intent, requests } = claimedTask.task;
  const { work } = deps.ledger;
  const { attempt } = requests[request] ?? {};
  const name = attempt?.name ?? "";
  const ids = { at: isoTime(deps.clock.now()), request, attempt: name };
  const message = `its result cannot be used: ${why}`;
  const completion = requests[request] && getAnswer(requests[request], "completed");
  if (intent.isPaid) {
    const keptAt = completion?.kept ?? work.attemptFolder(id, request, name);
    await claimedTask.record({ type: "unknown", ...ids, why: message, kept: keptAt, unusable: true });
    return;
  }
  // The folder of a free request is deleted with the task, so the result of a job is copied to another folder.
  const keptAt = attempt?.accepted ? await work.keep(id, request, name).catch(() => null) : null;
  const keptSentence = keptAt === null ? "" : ` The reply is kept in ${keptAt} until you remove that folder.`;
  await claimedTask.record({
    type: "failed",
    ...ids,
    errorCode: null,
    why: `${message}.${keptSentence}`,
    charged: "no",
  });
}

/** Content of the sidecars of a task's images; null if the task's request is unknown. */
export function sidecarFacts(report: TaskReport, { connection, clock }: TaskDeps): SidecarFacts | null {
  const { request, credits, submittedAt, usage, taskId, ledgerId } = report;
  if (request === null) return null;
  const completedAt = report.completedAt ?? isoTime(clock.now());
  const service = connection.identity.baseUrl;
  return {
    taskId: taskId ?? ledgerId ?? "",
    service,
    request,
    credits,
    submittedAt,
    completedAt,
    ...(usage && { usage }),
  };
}
