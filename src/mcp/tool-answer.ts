import { noFlag, type Options } from "../client/options/option.ts";
import { toImggenFailure } from "../client/report-json.ts";
import type { TaskFailure, TaskResult } from "../client/results.ts";
import { createThumbnail, UndecodableError } from "../graphics/decoder.ts";
import type { SavedFile } from "../task/saved-file.ts";
import { AGENT_WORDS } from "./agent-words.ts";

export interface Answer {
  result: object;
  isError?: boolean;
  paths?: readonly string[];
  images?: readonly AnswerImage[];
}

interface AnswerImage {
  data: string;
  mimeType: string;
}

export function nextCallAdvice(taskId: string): string {
  return `Call get_task with taskId ${JSON.stringify(taskId)} to wait for the task and save its image. No request is charged twice.`;
}

const REUSED_ADVICE =
  "This is the earlier task of an identical request, which is charged once. For a new image, at a new charge, make the same call with reuse: false.";

/** The URL is omitted, because its query can contain a signature. */
export function fileSummary({ path, mediaType, bytes, width, height }: SavedFile): object {
  return { path, mediaType, bytes, width, height };
}

export function taskAnswer(task: TaskResult): Answer {
  const files = task.files.map(fileSummary);
  const paths = task.files.flatMap(({ path }) => (path === null ? [] : [path]));
  if (task.ok) return { result: { ...task, files, ...(task.reused && { next: REUSED_ADVICE }) }, paths };
  if (task.error.type === "pending") return runningAnswer(task, task.error.message);
  return { result: { ...task, files, ...getNextStep(task) }, isError: true };
}

export function runningAnswer(task: TaskFailure, message: string): Answer {
  const { taskId, charged } = task;
  const files = task.files.map(fileSummary);
  return { result: { ok: true, status: "running", taskId, charged, files, message, ...getNextStep(task) } };
}

function getNextStep({ taskId, resume }: TaskFailure): { next?: string } {
  return resume !== null && taskId !== null ? { next: nextCallAdvice(taskId) } : {};
}

export function failureAnswer(error: unknown): Answer {
  return taskAnswer(toImggenFailure(error, AGENT_WORDS).toJSON());
}

/** Maximum side of a preview, in pixels: enough to recognize the subject, and small for an agent's context. */
const MAX_EDGE = 512;

const MAX_BYTES = 256 * 1024;

export const PREVIEW_OPTIONS = {
  preview: noFlag("flag", {
    agents: `Whether to include the image itself, scaled to at most ${MAX_EDGE} pixels. Default: the user's setting, or true if there is none.`,
  }),
} satisfies Options;

export async function withPreviews(answer: Answer, includesPreviews: boolean): Promise<Answer> {
  const { paths = [] } = answer;
  if (!includesPreviews || paths.length === 0) return answer;
  try {
    return { ...answer, images: await Promise.all(paths.map(createPreview)) };
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    return { ...answer, result: { ...answer.result, preview: `There is no preview: ${error.message}.` } };
  }
}

async function createPreview(file: string): Promise<AnswerImage> {
  let edge = MAX_EDGE;
  let picture = await createThumbnail(file, edge);
  for (; picture.length > MAX_BYTES; picture = await createThumbnail(file, edge)) edge = Math.floor(edge / 2);
  return { data: picture.toString("base64"), mimeType: "image/webp" };
}
