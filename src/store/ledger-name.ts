import { createHash } from "node:crypto";
import path from "node:path";
import { isoTime } from "../lib/clock.ts";
import { identifyingFields, type RequestIdentity, type ServiceIdentity } from "../task/intent.ts";
import type { GenerationRequest } from "../task/request.ts";
import { fileDigests } from "../task/saved-file.ts";
import { getSavedFiles, getTaskId, type Task } from "../task/task.ts";

// The file name of a finished task has tags for searches: `<id>.p<parts>.t<task id>.r<request>.m<model>.f<file>.jsonl`.
// All tags but `p` are short digests, so a match must be confirmed by reading the file.

/** Name of a task's file. The tags `k` (key) and `c` (credits) are only in files of earlier versions. */
const TASK_NAME = /^(\d{8}T\d{9}-[0-9a-f]{8})((?:\.[ptrmkcf][0-9a-f]+)*)\.jsonl$/;

export function idTime(atMs: number): string {
  return isoTime(atMs).replace(/[-:.Z]/g, "");
}

/** Part of the name of a new task's temporary file. Random digits follow. */
export const TEMPORARY_MARK = ".draft-";

const TEMPORARY_NAME = /\.draft-[0-9a-f]+$/;

export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/** Returns the id of a task's file; undefined for other files. */
export function parseTaskName(name: string): string | undefined {
  return TASK_NAME.exec(name)?.[1];
}

export function isId(text: string): boolean {
  return parseTaskName(openName(text)) === text;
}

export function openName(id: string): string {
  return `${id}.jsonl`;
}

export function partName(id: string, part: number): string {
  return `${id}.${part}.jsonl`;
}

export function partCount(name: string): number {
  return Number(/\.p(\d+)\./.exec(name)?.[1] ?? 1);
}

/** Maximum number of tags for image files, because the length of a file name is limited. */
const MAX_FILE_TAGS = 15;

export function doneName(task: Task): string {
  const { id, intent, parts } = task;
  const tags = [requestTag(intent), durationTag(intent.request, intent.service)];
  const taskId = getTaskId(task);
  if (taskId !== null) tags.unshift(taskTag(taskId));
  if (parts > 1) tags.unshift(`p${parts}`);
  tags.push(...getSavedFiles(task).flatMap(fileDigests).slice(0, MAX_FILE_TAGS).map(fileTag));
  return `${[id, ...tags].join(".")}.jsonl`;
}

export function hasTag(name: string, tag: string): boolean {
  return name.includes(`.${tag}.`);
}

export function taskTag(taskId: string): string {
  return `t${digest(taskId)}`;
}

export function findTaskTag(name: string): string | undefined {
  return /\.(t[0-9a-f]+)\./.exec(name)?.[1];
}

export function requestTag(identity: RequestIdentity): string {
  const { service, taskId, options: jobOptions } = identity;
  const { fields } = jobOptions;
  // Options are omitted for the hosted service, which has none, because tags of earlier files must stay valid.
  const options = taskId !== null && {
    options: canonical({ ...jobOptions, fields: canonical(fields) }),
  };
  return `r${digest(canonical({ ...identifyingFields(identity), ...service, ...options }))}`;
}

export function durationTag(
  { model, quality }: Pick<GenerationRequest, "model" | "quality">,
  { baseUrl }: Pick<ServiceIdentity, "baseUrl">,
): string {
  return `m${digest(canonical({ model, quality: quality ?? null, baseUrl }))}`;
}

export function fileTag(sha256: string): string {
  return `f${sha256.slice(0, 8)}`;
}

export function findFileTags(name: string): string[] {
  return name.match(/(?<=\.)f[0-9a-f]+(?=\.)/g) ?? [];
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

function canonical(fields: object): string {
  return JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Folder below `done/` and `parts/`: the minute in which the task began (`2026-01-31/1205`), to keep folders small. */
export function minuteFolder(id: string): string {
  return path.join(`${id.slice(0, 4)}-${id.slice(4, 6)}-${id.slice(6, 8)}`, id.slice(9, 13));
}
