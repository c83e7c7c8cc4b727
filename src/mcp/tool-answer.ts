import { noFlag, type Options } from "../client/options/option.ts";
import { toImggenFailure } from "../client/report-json.ts";
import type { TaskFailure, TaskResult } from "../client/results.ts";
import { thumbnail, UndecodableError } from "../graphics/decoder.ts";
import type { SavedFile } from "../task/saved-file.ts";
import { AGENT_WORDS } from "./agent-words.ts";

/** The answer of a tool, as a JSON object. */
export interface Answer {
  result: object;
  isError?: boolean;
  /** Files of its images. */
  paths?: readonly string[];
  images?: readonly AnswerImage[];
}

/** An image in base64. */
interface AnswerImage {
  data: string;
  mimeType: string;
}

/** Advice to an agent on continuing a task, which may send a waiting request for the first time. */
export function nextCall(taskId: string): string {
  return `Call get_task with taskId ${JSON.stringify(taskId)} to wait for it and save it: no request is charged twice.`;
}

/** Advice for an agent that gets an earlier image. */
const REUSED =
  "This is the earlier task of an identical request, which is charged once. For a new image, at a new charge, make the same call with reuse: false.";

/** A saved file for an agent: without its URL, whose query may be a signature. */
export function fileSummary({ path, mediaType, bytes, width, height }: SavedFile): object {
  return { path, mediaType, bytes, width, height };
}

/** The result of a task. One that is still running is no error. */
export function taskAnswer(task: TaskResult): Answer {
  const files = task.files.map(fileSummary);
  const paths = task.files.flatMap(({ path }) => (path === null ? [] : [path]));
  if (task.ok) return { result: { ...task, files, ...(task.reused && { next: REUSED }) }, paths };
  if (task.error.type === "pending") return runningAnswer(task, task.error.message);
  return { result: { ...task, files, ...nextStep(task) }, isError: true };
}

/** A task that a later call finishes. */
export function runningAnswer(task: TaskFailure, message: string): Answer {
  const { taskId, charged } = task;
  const files = task.files.map(fileSummary);
  return { result: { ok: true, status: "running", taskId, charged, files, message, ...nextStep(task) } };
}

function nextStep({ taskId, resume }: TaskFailure): { next?: string } {
  return resume !== null && taskId !== null ? { next: nextCall(taskId) } : {};
}

/** The answer of a call that has failed, whatever was thrown. */
export function failureAnswer(error: unknown): Answer {
  return taskAnswer(toImggenFailure(error, AGENT_WORDS).toJSON());
}

/** Large enough to see the subject of an image, and small in an agent's context. */
const MAX_EDGE = 512;

/** Maximum size of an image in an agent's context. */
const MAX_BYTES = 256 * 1024;

export const PREVIEW = {
  preview: noFlag("flag", {
    agents: `Whether to include the image itself, scaled to at most ${MAX_EDGE} pixels. Default: as the user has set it, else true.`,
  }),
} satisfies Options;

/** Adds small images to an answer, or the reason why one cannot be made. */
export async function withPreviews(answer: Answer, isWanted: boolean): Promise<Answer> {
  const { paths = [] } = answer;
  if (!isWanted || paths.length === 0) return answer;
  try {
    return { ...answer, images: await Promise.all(paths.map(createPreview)) };
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    return { ...answer, result: { ...answer.result, preview: `There is no preview: ${error.message}.` } };
  }
}

async function createPreview(file: string): Promise<AnswerImage> {
  let edge = MAX_EDGE;
  let picture = await thumbnail(file, edge);
  for (; picture.length > MAX_BYTES; picture = await thumbnail(file, edge)) edge = Math.floor(edge / 2);
  return { data: picture.toString("base64"), mimeType: "image/webp" };
}
