import { createHash } from "node:crypto";
import path from "node:path";
import { isoTime } from "../lib/clock.ts";
import { identifyingFields, type RequestIdentity, type ServiceIdentity } from "../task/intent.ts";
import type { GenerationRequest } from "../task/request.ts";
import { digestsOf } from "../task/saved-file.ts";
import { savedFilesOf, type Task, taskIdOf } from "../task/task.ts";

// A finished task's file carries tags in its name, so that one of a hundred thousand is found by reading
// names alone: `<id>.p<parts>.t<task id>.r<request>.m<model>.f<file>.jsonl`. A tag is a short digest: what it finds
// is read and compared before it counts. A task that was taken over has further parts, `<id>.2.jsonl` and so
// on, in another folder; the name has their number, if there is more than one.

/** Earlier versions wrote tags for the key and the credits, too. */
const TASK_NAME = /^(\d{8}T\d{9}-[0-9a-f]{8})((?:\.[ptrmkcf][0-9a-f]+)*)\.jsonl$/;

/** The first part of the ids of tasks begun at a moment, milliseconds since the epoch. */
export function timeOfId(atMs: number): string {
  return isoTime(atMs).replace(/[-:.Z]/g, "");
}

/** Separates the name of a new task's file from the part that makes its draft's name unique. */
export const DRAFT_MARK = ".draft-";

const DRAFT = /\.draft-[0-9a-f]+$/;

/** Whether a file is the draft of a task, complete or not: such a file is not an entry. */
export function isDraft(name: string): boolean {
  return DRAFT.test(name);
}

/** The ledger's own name for the task in a file of this name; undefined if it is no task's. */
export function idOfName(name: string): string | undefined {
  return TASK_NAME.exec(name)?.[1];
}

/** Whether a text is the ledger's own name for a task. */
export function isId(text: string): boolean {
  return idOfName(openName(text)) === text;
}

/** The name of an unfinished task's file. */
export function openName(id: string): string {
  return `${id}.jsonl`;
}

/** The name of a task's further part. @param part from 2 */
export function partName(id: string, part: number): string {
  return `${id}.${part}.jsonl`;
}

/** Number of parts of a finished task, from its name. */
export function partsOf(name: string): number {
  return Number(/\.p(\d+)\./.exec(name)?.[1] ?? 1);
}

/** File systems leave room for this many images' tags in one name. */
const MAX_FILE_TAGS = 15;

/** The name of a finished task's file. */
export function doneName(task: Task): string {
  const { id, intent, parts } = task;
  const tags = [requestTag(intent), kindTag(intent.request, intent.service)];
  const taskId = taskIdOf(task);
  if (taskId !== null) tags.unshift(taskTag(taskId));
  if (parts > 1) tags.unshift(`p${parts}`);
  tags.push(...savedFilesOf(task).flatMap(digestsOf).slice(0, MAX_FILE_TAGS).map(fileTag));
  return `${[id, ...tags].join(".")}.jsonl`;
}

/** Whether a file's name carries a tag. */
export function hasTag(name: string, tag: string): boolean {
  return name.includes(`.${tag}.`);
}

/** Name of a task by the service's id. */
export function taskTag(taskId: string): string {
  return `t${digest(taskId)}`;
}

/** The tag of the service's id in a finished task's name; undefined if it has none. */
export function taskTagOf(name: string): string | undefined {
  return /\.(t[0-9a-f]+)\./.exec(name)?.[1];
}

/** The tag of a request: what was asked for, and of whom. */
export function requestTag(identity: RequestIdentity): string {
  const { service, taskId, options: given } = identity;
  const { fields } = given;
  // Tags of earlier files at the hosted service, which takes no options, stay what they were.
  const options = taskId !== null && {
    options: canonical({ ...given, fields: canonical(fields) }),
  };
  return `r${digest(canonical({ ...identifyingFields(identity), ...service, ...options }))}`;
}

/** The tag of what decides how long a task takes: the service, the model, the quality. */
export function kindTag(
  { model, quality }: Pick<GenerationRequest, "model" | "quality">,
  { baseUrl }: Pick<ServiceIdentity, "baseUrl">,
): string {
  return `m${digest(canonical({ model, quality: quality ?? null, baseUrl }))}`;
}

/** The tag of a saved image, from its SHA-256. */
export function fileTag(sha256: string): string {
  return `f${sha256.slice(0, 8)}`;
}

/** The tags of its images in a finished task's name. */
export function fileTagsOf(name: string): string[] {
  return name.match(/(?<=\.)f[0-9a-f]+(?=\.)/g) ?? [];
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** The same text for the same fields, in whatever order they came. */
function canonical(fields: object): string {
  return JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The folder below `done/` that a task belongs in, and below `parts/` its further parts, by the minute it was begun: `2026-01-31/1205`. So no folder
 * grows without end, not even in a day of a hundred thousand tasks.
 */
export function dayFolder(id: string): string {
  return path.join(`${id.slice(0, 4)}-${id.slice(4, 6)}-${id.slice(6, 8)}`, id.slice(9, 13));
}
