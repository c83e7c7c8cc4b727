import { isoTime } from "../../lib/clock.ts";
import { ImggenError } from "../../lib/error-types.ts";
import type { Provider } from "../../providers/provider.ts";
import { isPaid } from "../../task/intent.ts";
import { isUnknown } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { interruptedError } from "../errors.ts";
import { diskFailure } from "../images/download-image.ts";
import { atUrls, type ImageSource, severalMade } from "../images/image-source.ts";
import { remarksOn } from "../images/remarks.ts";
import { MOST_IMAGES, saveImages } from "../images/save-images.ts";
import type { SaveResult, SaveSpec, SidecarFacts } from "../images/save-spec.ts";
import type { CompletionInterval } from "../polling/learned-schedule.ts";
import type { EndedState } from "../polling/wait.ts";
import { jobOf } from "./jobs.ts";
import { endEvent } from "./record-end.ts";
import { elapsedMs, factsOf, type TaskReport } from "./report.ts";
import { errorOf } from "./task-error.ts";
import type { TaskWriter } from "./task-writer.ts";

/** A task that exists at a provider, and what is known about it. */
export interface AcceptedTask
  extends Pick<SaveSpec, "taskId" | "destination" | "saved" | "recovering">,
    Partial<Pick<SaveSpec, "copies">> {
  /** null for a task that the ledger does not hold. */
  writer: TaskWriter | null;
  /** When the provider accepted it, milliseconds since the epoch; null if that is not known. */
  acceptedAtMs: number | null;
  /** Whether a file that is newer than the task is replaced under --overwrite: its place was asked for in this run. */
  replacesNewer?: boolean;
}

/** Saves the images of a task that polling has seen to be completed. */
export async function saveTask(
  task: AcceptedTask,
  seen: CompletionInterval & { task: Extract<EndedState, { status: "completed" }> },
  report: TaskReport,
  deps: TaskDeps,
): Promise<TaskReport> {
  // A task that was saved before, or whose saving failed, was completed then.
  const completedAt = report.completedAt ?? isoTime(deps.clock.now());
  await task.writer?.write(endEvent(seen.task, null, completedAt, seen));
  const completed: TaskReport = {
    ...report,
    completedAt,
    elapsedMs: elapsedMs(report.submittedAt, completedAt),
  };
  const poll = async () => {
    const reply = await deps.connection.provider.poll?.(task.taskId, undefined, deps.signal);
    return reply?.outcome === "state" && reply.task.status === "completed" ? reply.task.urls : null;
  };
  const sources = atUrls(seen.task.urls, poll, deps.connection.generator !== undefined);
  const { result, failure } = await saved(task, sources, completed, deps);
  const files = result.files.filter((file) => file !== null);
  const warnings = [...completed.warnings, ...result.warnings];
  if (failure === null) return recordSaved(task, { ...completed, files, warnings }, deps);
  await recordPart(task, result, deps);
  return { ...completed, files, warnings, error: failure };
}

/**
 * Saves what the requests of a task have made, which is on this disk. What turns out to be no image is recorded as that,
 * and stays where it is.
 */
export async function saveMade(
  task: AcceptedTask & { writer: TaskWriter },
  report: TaskReport,
  deps: TaskDeps,
): Promise<TaskReport> {
  const { writer } = task;
  const { sources, said } = sourcesOf(task, deps);
  const { result, failure } = await saved(task, sources, report, deps);
  for (const { request, why } of result.bad) await recordBad(writer, request, why, deps);
  const { record } = writer;
  const files = result.files.filter((file) => file !== null);
  const warnings = [...report.warnings, ...said, ...result.warnings, ...remarksOn(record, files)];
  if (failure !== null || isUnknown(record)) await recordPart(task, result, deps);
  else {
    if (files.length > 0) await writer.write({ type: "saved", at: isoTime(deps.clock.now()), files });
    await writer.finish();
  }
  return { ...factsOf(writer.record), files, warnings, error: failure ?? errorOf(writer.record) };
}

/**
 * The source of each image of a task: one for each request, in order, then the other images that they have made. A request
 * that costs nothing has its first image saved; `said` has a sentence about the others.
 */
function sourcesOf(
  { writer: { record } }: { writer: TaskWriter },
  { connection, ledger }: TaskDeps,
): { sources: ImageSource[]; said: string[] } {
  const { provider } = connection;
  const others: ImageSource[] = [];
  const said: string[] = [];
  const sources = record.requests.map((state, request): ImageSource => {
    if (state.name !== "completed") return { kind: "none" };
    const [first, ...more] = state.urls.map((url, at) => atProvider(url, at, state.taskId, provider));
    if (first !== undefined) {
      if (isPaid(record.intent)) others.push(...more);
      else if (more.length > 0) said.push(severalMade(more.length));
      return first;
    }
    const job = jobOf(record, request, ledger.work);
    return { kind: "here", request, read: async () => (await provider.images?.(job)) ?? [] };
  });
  return { sources: [...sources, ...others], said };
}

/** An image of a request at its provider's URL. @param at which of those that it has made, from 0 */
function atProvider(url: string, at: number, taskId: string, provider: Provider): ImageSource {
  const freshUrl = async () => {
    const reply = await provider.poll?.(taskId, undefined, new AbortController().signal);
    if (reply?.outcome !== "state" || reply.task.status !== "completed") return null;
    return reply.task.urls[at] ?? null;
  };
  return { kind: "url", url, headers: provider.downloadHeaders, freshUrl };
}

/** Keeps replies that hold images which are not saved, for good: they were paid for. @throws SaveFailedError */
async function keepRest(
  { id }: TaskWriter,
  { rest, warnings }: SaveResult,
  { ledger }: TaskDeps,
): Promise<void> {
  for (const { request, count } of rest) {
    let folder: string;
    try {
      folder = await ledger.work.keep(id, request);
    } catch (error) {
      throw diskFailure(ledger.work.of(id, request), error);
    }
    const isOne = count === 1;
    const what = isOne ? "1 more image was" : `${count} more images were`;
    const kept = isOne ? "It is" : "They are";
    warnings.push(`${what} made and not saved. ${kept} kept in ${folder}, until you remove that folder.`);
  }
}

/** Records that what a request has made is no image that can be saved. */
async function recordBad(
  writer: TaskWriter,
  request: number,
  why: string,
  { clock, ledger }: TaskDeps,
): Promise<void> {
  const at = isoTime(clock.now());
  const { id, intent } = writer.record;
  const said = `what it made cannot be used: ${why}`;
  if (intent.work?.isPaid)
    await writer.write({ type: "unknown", at, why: said, kept: ledger.work.of(id, request), request });
  else await writer.write({ type: "failed", at, errorCode: null, why: `${said}.`, charged: "no", request });
}

/** Downloads, checks and publishes images. @returns what was saved, and the error that ended it */
async function saved(
  task: AcceptedTask,
  sources: readonly ImageSource[],
  report: TaskReport,
  deps: TaskDeps,
): Promise<{ result: SaveResult; failure: ImggenError | null }> {
  const result: SaveResult = { files: [], warnings: [], bad: [], rest: [] };
  const date = new Date(task.acceptedAtMs ?? deps.clock.now());
  const { taskId, destination, saved: earlier, copies = [], recovering, writer } = task;
  const requests = writer?.record.requests.length ?? 1;
  const spec: SaveSpec = {
    taskId,
    destination,
    saved: earlier,
    copies,
    recovering,
    sources,
    request: report.request,
    facts: sidecarFacts(report, taskId, deps),
    stem: report.ledgerId ?? `task-${taskId.replace(/[^A-Za-z0-9]/g, "").slice(-32)}`,
    date,
    keepsSinceMs: task.replacesNewer ? Number.POSITIVE_INFINITY : date.getTime(),
    owned: writer !== null,
    mostImages: Math.max(MOST_IMAGES * requests, copies.length),
    savesAll: writer === null || isPaid(writer.record.intent),
  };
  try {
    await saveImages(spec, result, deps);
    if (writer) await keepRest(writer, result, deps);
    return { result, failure: null };
  } catch (error) {
    const failure = deps.signal.aborted ? interruptedError(deps.signal, report.charged) : error;
    if (!(failure instanceof ImggenError)) throw failure;
    return { result, failure };
  }
}

function sidecarFacts(report: TaskReport, taskId: string, { connection }: TaskDeps): SidecarFacts | null {
  const { request, credits, submittedAt, completedAt, usage } = report;
  const service = connection.identity.baseUrl;
  const facts = { taskId, service, credits, submittedAt, completedAt, ...(usage && { usage }) };
  return request && { ...facts, request };
}

/** Records the images saved so far: they need not be downloaded again, and their URLs may have expired by then. */
async function recordPart(task: AcceptedTask, { files }: SaveResult, deps: TaskDeps): Promise<void> {
  const isNew = files.some((file, at) => file !== null && file !== task.saved[at]);
  if (isNew) await task.writer?.write({ type: "partly_saved", at: isoTime(deps.clock.now()), files });
  await task.writer?.release();
}

async function recordSaved(task: AcceptedTask, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  await task.writer?.write({ type: "saved", at: isoTime(deps.clock.now()), files: report.files });
  await task.writer?.finish();
  return { ...report, state: "saved" };
}
