import * as z from "zod/mini";
import type { ErrorType } from "../lib/error-types.ts";
import { isJsonObject, isJsonValue, type JsonValue, jsonOrNull } from "../lib/json.ts";
import type { IntentTerms, JobOptions, SaveOptions } from "../task/intent.ts";
import type { Line, LineType } from "../task/line.ts";
import { type GenerationRequest, isRequest } from "../task/request.ts";
import { MAX_SAVED_IMAGES, type SavedFile } from "../task/saved-file.ts";
import { type Task, taskFromIntent, withLine } from "../task/task.ts";
import { upgradeLines } from "./old-lines.ts";
import { LEDGER_VERSION } from "./task-file.ts";

export type ReadTask =
  | { kind: "task"; task: Task }
  /** The process ended while it wrote the intent, so no request was sent. */
  | { kind: "stub" }
  /** `cause`: the error if the file could not be read; the file's content can be intact. */
  | { kind: "damaged"; why: string; cause?: unknown }
  | { kind: "newer"; version: number };

/** Maximum number of requests of a task. A line with a larger number is damaged. */
const MAX_REQUESTS = 64;

type Fields<Of> = { [Name in keyof Of]-?: z.ZodMiniType<Of[Name]> };

const text = z.string();
const textOrNull = z.nullable(text);
const numberOrNull = z.nullable(z.number());
const saveOptions = {
  overwrite: z.boolean(),
  sidecar: z.exactOptional(z.boolean()),
} satisfies Fields<SaveOptions>;
const folder = { folder: text, template: text, ...saveOptions };
const destination = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), path: text, ...saveOptions }),
  z.object({ kind: z.literal("folder"), ...folder }),
  z.object({ kind: z.literal("stdout"), ...folder }),
]);
const wholeNumber = z.union([z.number(), text]);
const savedFile = z.object({
  path: textOrNull,
  url: textOrNull,
  mediaType: text,
  bytes: z.number(),
  sha256: text,
  width: z.number(),
  height: z.number(),
  originalSha256: z.exactOptional(text),
  seed: z.exactOptional(wholeNumber),
} satisfies Fields<SavedFile>);

const jsonValue = z.custom<JsonValue>((value) => isJsonValue(value));
const terms = {
  taskId: textOrNull,
  isPaid: z.boolean(),
  requests: z.number().check(z.int(), z.positive(), z.maximum(MAX_REQUESTS)),
  requestMs: z.number(),
  options: z.object({
    model: textOrNull,
    width: z.number(),
    height: z.number(),
    sizeForm: z.nullable(z.enum(["WxH", "width,height", "aspect_ratio"])),
    fields: z.record(text, jsonValue),
    seedField: z.exactOptional(text),
    package: z.exactOptional(text),
    workflow: z.exactOptional(text),
  } satisfies Fields<JobOptions>),
} satisfies Fields<IntentTerms>;

const requestFields = { at: text, request: z.number().check(z.int(), z.nonnegative()) };
const attemptFields = { ...requestFields, attempt: text };

const LINES: { [Type in LineType]: Fields<Omit<Line<Type>, "type">> } = {
  intent: {
    v: z.literal(LEDGER_VERSION),
    id: z.exactOptional(text),
    at: text,
    holder: text,
    attempt: z.exactOptional(text),
    claim: z.exactOptional(text),
    once: z.exactOptional(z.literal(true)),
    // Keeps unknown fields of later releases, because without them a repeated request would not compare as equal.
    request: z.custom<GenerationRequest>(isRequest),
    service: z.object({ baseUrl: text, keyId: text }),
    credits: numberOrNull,
    destination,
    ...terms,
    server: z.exactOptional(text),
    repeatedSeed: z.exactOptional(z.object({ field: text, first: wholeNumber })),
    call: z.exactOptional(text),
  },
  taken: { at: text, holder: text },
  released: { at: text },
  started: attemptFields,
  waiting: { ...attemptFields, why: text },
  not_sent: { ...requestFields, why: text },
  refused: {
    ...attemptFields,
    error: z.object({
      // Unknown error types of later releases are accepted, because a skipped line would make the outcome unknown.
      type: z.custom<ErrorType>((type) => typeof type === "string"),
      key: textOrNull,
      message: text,
      hint: z.exactOptional(z.unknown()),
      code: z.exactOptional(text),
      param: z.exactOptional(text),
    }),
  },
  unknown: {
    ...attemptFields,
    why: text,
    excerpt: z.exactOptional(text),
    kept: z.exactOptional(text),
    unusable: z.exactOptional(z.literal(true)),
  },
  accepted: { ...attemptFields, taskId: text },
  gone: { ...attemptFields, why: text },
  completed: {
    ...attemptFields,
    urls: z.array(text),
    seenMs: numberOrNull,
    pendingMs: numberOrNull,
    usage: z.exactOptional(z.record(text, z.unknown())),
    kept: z.exactOptional(text),
    seeds: z.exactOptional(z.array(z.nullable(wholeNumber))),
  },
  failed: {
    ...attemptFields,
    errorCode: textOrNull,
    why: z.exactOptional(text),
    charged: z.exactOptional(z.literal("no")),
  },
  dismissed: { at: text, why: text, replacement: textOrNull },
  partly_saved: {
    at: text,
    files: z.array(z.nullable(savedFile)),
    imageCounts: z.exactOptional(
      z.array(z.number().check(z.int(), z.nonnegative(), z.maximum(MAX_SAVED_IMAGES))),
    ),
  },
  saved: { at: text, files: z.array(z.nullable(savedFile)) },
};

const SCHEMAS = new Map(
  Object.entries(LINES).map(([type, fields]) => [type, z.object({ type: z.literal(type), ...fields })]),
);

/** Builds a task from the contents of its files, in order. Skips incomplete lines, which a crash can cause. */
export function readTaskLines(id: string, [content = "", ...furtherParts]: readonly string[]): ReadTask {
  if (!content.includes("\n")) return { kind: "stub" };
  const [first, ...rest] = upgradeLines(splitLines(content));
  const intent = parseLine(first);
  if (intent === null || intent.type !== "intent") return unreadableTask(first);
  const task = parseLines(rest).reduce(withLine, taskFromIntent(id, intent));
  return { kind: "task", task: furtherParts.reduce(withPart, task) };
}

/** Adds the lines of a later part. If the first line of the part is incomplete, the task has no holder (null). */
function withPart(task: Task, content: string): Task {
  const nextTask = { ...task, holder: null, mark: "", parts: task.parts + 1 };
  return parseLines(splitLines(content)).reduce(withLine, nextTask);
}

function splitLines(content: string): unknown[] {
  return content
    .split("\n")
    .filter((line) => line !== "")
    .map(jsonOrNull);
}

function parseLines(lines: readonly unknown[]): Line[] {
  return lines.map(parseLine).filter((line) => line !== null);
}

function unreadableTask(line: unknown): ReadTask {
  if (typeof line !== "object" || line === null)
    return { kind: "damaged", why: "its first line is not JSON" };
  const version = "v" in line ? line.v : undefined;
  if (typeof version === "number" && version > LEDGER_VERSION) return { kind: "newer", version };
  return { kind: "damaged", why: "its first line is not a task" };
}

function parseLine(json: unknown): Line | null {
  const type = isJsonObject(json) && typeof json.type === "string" ? json.type : "";
  const checked = SCHEMAS.get(type)?.safeParse(json);
  return checked?.success ? (checked.data as Line) : null;
}
