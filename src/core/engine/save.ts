import { isoTime } from "../../lib/clock.ts";
import { ImggenError } from "../../lib/error-types.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { Job, Provider } from "../../providers/provider.ts";
import type { Destination } from "../../task/intent.ts";
import { seedAt } from "../../task/line.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { displayId, getAnswer, isUnknown, type Task } from "../../task/task.ts";
import { diskFailure } from "../images/download-image.ts";
import type { ImageSource, SeededImage } from "../images/image-source.ts";
import { remarksOn } from "../images/remarks.ts";
import { MAX_IMAGES, saveImages } from "../images/save-images.ts";
import type { SaveResult, SaveSpec, SidecarFacts } from "../images/save-spec.ts";
import type { TaskDeps } from "./deps.ts";
import { recordGone } from "./follow-job.ts";
import type { HeldTask } from "./held.ts";
import { createJob } from "./jobs.ts";
import { type TaskReport, taskFacts } from "./report.ts";

/** Destination of a task's images. */
export interface SaveGoal {
  destination: Destination;
  /** Whether a file that is newer than the task is replaced under --overwrite: its place was named in this run. */
  replacesNewer: boolean;
  /** Whether an earlier process may have saved some of them. */
  isContinued: boolean;
  /** Whether images that were saved before elsewhere are wanted in this destination too. */
  isOtherPlace: boolean;
}

/** Images to be saved, and what is known of their task. */
interface SavingSpec extends Omit<SaveGoal, "isContinued" | "isOtherPlace"> {
  taskId: string;
  /** Ledger id of the task if this process holds it, else null. */
  heldTaskId: string | null;
  request: GenerationRequest | null;
  facts: SidecarFacts | null;
  /** The time of the submit, in milliseconds since the epoch. */
  sinceMs: number;
  sources: readonly ImageSource[];
  savedFiles: readonly (SavedFile | null)[];
  copies: readonly (SavedFile | null)[];
  recovering: boolean;
  maxImages: number;
  /** Whether further images of one reply are saved too, after those of the other requests. */
  savesFurther: boolean;
}

export interface Saved {
  result: SaveResult;
  failure: ImggenError | null;
}

/** Downloads, checks and publishes images. @returns what was saved, and the error that ended it */
export async function saveSources(spec: SavingSpec, deps: TaskDeps): Promise<Saved> {
  const result: SaveResult = { files: [], warnings: [], bad: [], gone: [], rest: [] };
  const { sinceMs, maxImages, replacesNewer, ...facts } = spec;
  const saving: SaveSpec = {
    ...facts,
    maxImages: maxImages,
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
 * Saves what the requests of a task have made so far: the first image of each, while others are still to come; all images
 * once none is. What turns out to be no image is recorded as that, and stays where it is.
 * @returns warnings, and why not all could be saved
 */
export async function saveMade(
  heldTask: HeldTask,
  goal: SaveGoal,
  isLast: boolean,
  deps: TaskDeps,
): Promise<{ warnings: string[]; failure: ImggenError | null }> {
  const { task } = heldTask;
  const report = taskFacts(task);
  const { result, failure } = await saveSources(
    {
      ...goal,
      taskId: displayId(task),
      heldTaskId: task.id,
      request: task.intent.request,
      facts: sidecarFacts(report, deps),
      sinceMs: Date.parse(task.submittedAt),
      sources: imageSources(task, isLast, deps),
      // If another place was named, all of it is wanted there.
      savedFiles: goal.isOtherPlace ? [] : task.files,
      copies: [],
      recovering: goal.isContinued,
      maxImages: MAX_IMAGES * task.requests.length,
      savesFurther: isLast,
    },
    deps,
  );
  const keepFailure = failure === null ? await keepRest(heldTask, result, deps) : null;
  for (const { request, why } of result.bad) await recordBad(heldTask, request, why, deps);
  for (const { request, why } of result.gone) await recordGone(heldTask, request, why, deps);
  const warnings = [...result.warnings, ...(isLast ? remarksOn(heldTask.task, savedIn(result)) : [])];
  await recordFiles(heldTask, result, isLast && failure === null && keepFailure === null, deps);
  return { warnings, failure: failure ?? keepFailure };
}

function savedIn({ files }: SaveResult): SavedFile[] {
  return files.filter((file) => file !== null);
}

/** Records the images saved so far: they need not be downloaded again, and their URLs may have expired by then. */
async function recordFiles(
  heldTask: HeldTask,
  { files }: SaveResult,
  isWhole: boolean,
  { clock }: TaskDeps,
): Promise<void> {
  const at = isoTime(clock.now());
  const { task } = heldTask;
  const isNew = files.some((file, index) => file !== null && file !== task.files[index]);
  if (isWhole && !isUnknown(task) && files.some((file) => file !== null))
    await heldTask.record({ type: "saved", at, files });
  else if (isNew) await heldTask.record({ type: "partly_saved", at, files });
}

/**
 * The source of each image of a task: one for each request, in order, then the other images that they have made.
 * @param withFurther whether these are wanted too: their places are known only once no other request is to come
 */
function imageSources(task: Task, withFurther: boolean, { connection, ledger }: TaskDeps): ImageSource[] {
  const { provider } = connection;
  const further: ImageSource[] = [];
  const sources = task.requests.map((each, request): ImageSource => {
    const completion = getAnswer(each, "completed");
    if (completion === null || each.attempt === null) return { kind: "none" };
    const { attempt } = each;
    const job = createJob(task, request, attempt.name, ledger.work);
    const sentSeed = provider.getSeed?.(job) ?? null;
    const seedOf = (at: number) => seedAt(completion.seeds, at) ?? sentSeed;
    const [first, ...more] = completion.urls.map((url, at) => ({
      ...atProvider(url, at, attempt.accepted?.id, job, provider),
      request,
      seed: seedOf(at),
    }));
    further.push(...more);
    if (first !== undefined) return first;
    // A task that was ended has its files, and no longer the replies.
    const isSaved = task.files[request] && !ledger.work.hasReply(task.id, request, attempt.name);
    if (isSaved) return { kind: "none" };
    return { kind: "here", request, read: () => imagesHere(job, provider, seedOf) };
  });
  return withFurther ? [...sources, ...further] : sources;
}

/** The images of a reply on this disk. */
export async function imagesHere(
  job: Job,
  provider: Provider,
  seedOf: (at: number) => WholeNumber | null,
): Promise<SeededImage[]> {
  const images = (await provider.images?.(job)) ?? [];
  return images.map((image, at) => ({ image, seed: seedOf(at) }));
}

/** An image of a job at its provider's URL. @param at which of those that it has made, from 0 */
function atProvider(url: string, at: number, id: string | undefined, job: Job, provider: Provider) {
  const freshUrl = async () => {
    if (id === undefined) return null;
    const reply = await provider.poll?.(id, { job, signal: new AbortController().signal });
    if (reply?.outcome !== "state" || reply.task.status !== "completed") return null;
    return reply.task.urls[at] ?? null;
  };
  return { kind: "url" as const, url, headers: provider.downloadHeaders, freshUrl };
}

/** Keeps replies that hold images which are not saved, for good. @returns why that cannot be done */
async function keepRest(
  { task: { id, requests } }: HeldTask,
  { rest, warnings }: SaveResult,
  { ledger }: TaskDeps,
): Promise<ImggenError | null> {
  for (const { request, count } of rest) {
    const attempt = requests[request]?.attempt?.name ?? "";
    const completion = requests[request] && getAnswer(requests[request], "completed");
    let folder: string;
    try {
      folder = await ledger.work.keep(id, request, attempt, completion?.kept);
    } catch (error) {
      return diskFailure(ledger.work.attemptFolder(id, request, attempt), error);
    }
    const isOne = count === 1;
    const what = isOne ? "1 more image was" : `${count} more images were`;
    const subject = isOne ? "It is" : "They are";
    warnings.push(`${what} made and not saved. ${subject} kept in ${folder}, until you remove that folder.`);
  }
  return null;
}

/** Records that what a request has made is no image that can be saved. What a job has made is kept, paid or free. */
async function recordBad(heldTask: HeldTask, request: number, why: string, deps: TaskDeps): Promise<void> {
  const { id, intent, requests } = heldTask.task;
  const { work } = deps.ledger;
  const { attempt } = requests[request] ?? {};
  const name = attempt?.name ?? "";
  const of = { at: isoTime(deps.clock.now()), request, attempt: name };
  const message = `what it made cannot be used: ${why}`;
  const completion = requests[request] && getAnswer(requests[request], "completed");
  if (intent.isPaid) {
    const keptAt = completion?.kept ?? work.attemptFolder(id, request, name);
    await heldTask.record({ type: "unknown", ...of, why: message, kept: keptAt, unusable: true });
    return;
  }
  // The folder of a free one is removed with its task.
  const keptAt = attempt?.accepted ? await work.keep(id, request, name).catch(() => null) : null;
  const where = keptAt === null ? "" : ` What arrived is kept in ${keptAt}, until you remove that folder.`;
  await heldTask.record({
    type: "failed",
    ...of,
    errorCode: null,
    why: `${message}.${where}`,
    charged: "no",
  });
}

/** Content of the sidecars of a task's images; null if its request is not known. */
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
