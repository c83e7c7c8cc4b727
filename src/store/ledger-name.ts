import { createHash } from "node:crypto";
import path from "node:path";
import { isoTime } from "../lib/clock.ts";
import { identifyingFields, type RequestIdentity, type ServiceIdentity } from "../task/intent.ts";
import type { GenerationRequest } from "../task/request.ts";
import { fileDigests } from "../task/saved-file.ts";
import { getSavedFiles, getTaskId, type Task } from "../task/task.ts";

// The file name of a finished task has tags, so that one of a hundred thousand is found from the names alone:
// `<id>.p<parts>.t<task id>.r<request>.m<model>.f<file>.jsonl`. A tag is a short digest: a match is read and compared
// before it counts. A task that was taken over has further parts, `<id>.2.jsonl` and so on, in another folder; `p` is
// their number, if there is more than one.

/** `k` and `c` (key and credits) are tags of earlier versions. */
const TASK_NAME = /^(\d{8}T\d{9}-[0-9a-f]{8})((?:\.[ptrmkcf][0-9a-f]+)*)\.jsonl$/;

/**
 * The timestamp at the start of a task's id.
 * @param atMs milliseconds since the epoch
 */
export function idTime(atMs: number): string {
  return isoTime(atMs).replace(/[-:.Z]/g, "");
}

/** Between the name of a new task's file and the random part of its temporary file. */
export const TEMPORARY_MARK = ".draft-";

const TEMPORARY_NAME = /\.draft-[0-9a-f]+$/;

/** Whether a file is the temporary file of a task, complete or not. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/** The ledger's id of the task in a file of this name; undefined for other files. */
export function parseTaskName(name: string): string | undefined {
  return TASK_NAME.exec(name)?.[1];
}

/** Whether a text is a complete id of the ledger. */
export function isId(text: string): boolean {
  return parseTaskName(openName(text)) === text;
}

export function openName(id: string): string {
  return `${id}.jsonl`;
}

/** @param part from 2 */
export function partName(id: string, part: number): string {
  return `${id}.${part}.jsonl`;
}

/** From the name of a finished task. */
export function partCount(name: string): number {
  return Number(/\.p(\d+)\./.exec(name)?.[1] ?? 1);
}

/** Limited by the length of file names. */
const MAX_FILE_TAGS = 15;

export function doneName(task: Task): string {
  const { id, intent, parts } = task;
  const tags = [requestTag(intent), kindTag(intent.request, intent.service)];
  const taskId = getTaskId(task);
  if (taskId !== null) tags.unshift(taskTag(taskId));
  if (parts > 1) tags.unshift(`p${parts}`);
  tags.push(...getSavedFiles(task).flatMap(fileDigests).slice(0, MAX_FILE_TAGS).map(fileTag));
  return `${[id, ...tags].join(".")}.jsonl`;
}

export function hasTag(name: string, tag: string): boolean {
  return name.includes(`.${tag}.`);
}

/** The tag of the service's id. */
export function taskTag(taskId: string): string {
  return `t${digest(taskId)}`;
}

/** The tag of the service's id in a finished task's name, if any. */
export function findTaskTag(name: string): string | undefined {
  return /\.(t[0-9a-f]+)\./.exec(name)?.[1];
}

/** The tag of a request and the account it was sent to. */
export function requestTag(identity: RequestIdentity): string {
  const { service, taskId, options: jobOptions } = identity;
  const { fields } = jobOptions;
  // No options for the hosted service, which has none, so that the tags of earlier files stay valid.
  const options = taskId !== null && {
    options: canonical({ ...jobOptions, fields: canonical(fields) }),
  };
  return `r${digest(canonical({ ...identifyingFields(identity), ...service, ...options }))}`;
}

/** The tag of the task's expected duration: service, model and quality. */
export function kindTag(
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

/** JSON that does not depend on the order of the fields. */
function canonical(fields: object): string {
  return JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The folder of a task below `done/`, and of its further parts below `parts/`, by the minute of its start:
 * `2026-01-31/1205`. So no folder grows without limit, even with a hundred thousand tasks in a day.
 */
export function dayFolder(id: string): string {
  return path.join(`${id.slice(0, 4)}-${id.slice(4, 6)}-${id.slice(6, 8)}`, id.slice(9, 13));
}
