import * as z from "zod/mini";
import type { ErrorType } from "../lib/error-types.ts";
import { isJsonObject, isJsonValue, type JsonValue, jsonOrNull } from "../lib/json.ts";
import type { ProcessIdentity } from "../lib/processes.ts";
import type { SaveOptions } from "../task/intent.ts";
import type { EventType, OfRequest, TaskEvent } from "../task/lifecycle.ts";
import { begunTask, type TaskRecord, withEvent } from "../task/record.ts";
import { type GenerationRequest, isRequest } from "../task/request.ts";
import type { SavedFile } from "../task/saved-file.ts";
import type { Work, WorkOptions } from "../task/work.ts";
import { LEDGER_VERSION } from "./task-file.ts";

/** What a file in the ledger turned out to be. */
export type ReadTask =
  | { kind: "task"; record: TaskRecord }
  /** The process ended while it wrote the intent, so nothing was ever sent. */
  | { kind: "stub" }
  /** The cause is there where the system did not give the file: its content may be whole. */
  | { kind: "damaged"; why: string; cause?: unknown }
  | { kind: "newer"; version: number };

/** A damaged or foreign line must not make a list of millions. */
const MOST_REQUESTS = 64;

/** A schema for each field of a line's type: one that is missing, or of another type, does not compile. */
type Fields<Line> = { [Name in keyof Line]-?: z.ZodMiniType<Line[Name]> };

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
const savedFile = z.object({
  path: textOrNull,
  url: textOrNull,
  mediaType: text,
  bytes: z.number(),
  sha256: text,
  width: z.number(),
  height: z.number(),
  originalSha256: z.exactOptional(text),
  seed: z.exactOptional(z.union([z.number(), text])),
} satisfies Fields<SavedFile>);
/** Earlier releases noted neither boot, namespace nor thread, nor until when they would be submitting. */
const owner = z.object({
  pid: z.number(),
  host: text,
  started: text,
  boot: z.exactOptional(text),
  pidNamespace: z.exactOptional(text),
  thread: z.exactOptional(z.number()),
} satisfies Fields<ProcessIdentity>);

/** Values that JSON has and a line does not judge further. */
const jsonValue = z.custom<JsonValue>((value) => isJsonValue(value));
const work = z.object({
  taskId: text,
  isPaid: z.boolean(),
  requests: z.number().check(z.int(), z.positive(), z.maximum(MOST_REQUESTS)),
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
  } satisfies Fields<WorkOptions>),
} satisfies Fields<Work>);

const ofRequest = { request: z.exactOptional(z.number()) } satisfies Fields<OfRequest>;

/** What each line of a task file holds beside its type. */
const LINES: { [Type in EventType]: Fields<Omit<Extract<TaskEvent, { type: Type }>, "type">> } = {
  intent: {
    v: z.literal(LEDGER_VERSION),
    id: z.exactOptional(text),
    at: text,
    owner,
    until: z.exactOptional(text),
    // Fields that this release does not know are kept, so that the request still compares as equal.
    request: z.custom<GenerationRequest>(isRequest),
    service: z.object({ baseUrl: text, keyId: text }),
    credits: numberOrNull,
    destination,
    work: z.exactOptional(work),
    server: z.exactOptional(text),
  },
  waiting: {
    at: text,
    why: z.exactOptional(text),
    sent: z.boolean(),
    by: z.exactOptional(owner),
    until: z.exactOptional(text),
    ...ofRequest,
  },
  started: { at: text, by: owner, until: text, ...ofRequest },
  taken_over: { at: text, by: owner, until: text, ...ofRequest },
  rate_limited: { at: text, why: text, until: text },
  submitting: { at: text, until: text },
  not_sent: { at: text, why: text, ...ofRequest },
  // An error type that a newer release knows is no reason to take the request for one that may be charged.
  refused: {
    at: text,
    error: z.object({
      type: z.custom<ErrorType>((type) => typeof type === "string"),
      key: textOrNull,
      message: text,
      hint: z.exactOptional(text),
    }),
    ...ofRequest,
  },
  unknown: {
    at: text,
    why: text,
    excerpt: z.exactOptional(text),
    kept: z.exactOptional(text),
    ...ofRequest,
  },
  dismissed: { at: text, why: text, replacement: textOrNull },
  accepted: { at: text, taskId: text, ...ofRequest },
  completed: {
    at: text,
    urls: z.array(text),
    seenMs: numberOrNull,
    pendingMs: numberOrNull,
    usage: z.exactOptional(z.record(text, z.unknown())),
    ...ofRequest,
  },
  partly_saved: { at: text, files: z.array(z.nullable(savedFile)) },
  failed: {
    at: text,
    errorCode: textOrNull,
    why: z.exactOptional(text),
    charged: z.exactOptional(z.literal("no")),
    ...ofRequest,
  },
  saved: { at: text, files: z.array(savedFile) },
  released: { at: text },
};

const SCHEMAS = new Map(
  Object.entries(LINES).map(([type, fields]) => [type, z.object({ type: z.literal(type), ...fields })]),
);

/**
 * Adds a file's lines up to a task. A line that was cut short by a crash is passed over; whatever came after
 * it stands on a line of its own. A whole first line that is no intent means damage.
 */
export function readTaskLines(id: string, content: string): ReadTask {
  if (!content.includes("\n")) return { kind: "stub" };
  const [first = "", ...rest] = content.split("\n").filter((line) => line !== "");
  const intent = parseLine(first);
  if (intent === null || intent.type !== "intent") return unreadable(first);
  const begun = begunTask(id, intent);
  const events = rest.map(parseLine).filter((event) => event !== null);
  return { kind: "task", record: events.reduce(withEvent, begun) };
}

function unreadable(line: string): ReadTask {
  const json = jsonOrNull(line);
  if (typeof json !== "object" || json === null)
    return { kind: "damaged", why: "its first line is not JSON" };
  const version = "v" in json ? json.v : undefined;
  if (typeof version === "number" && version > LEDGER_VERSION) return { kind: "newer", version };
  return { kind: "damaged", why: "its first line is not a task" };
}

function parseLine(line: string): TaskEvent | null {
  const json = jsonOrNull(line);
  const type = isJsonObject(json) && typeof json.type === "string" ? json.type : "";
  const parsed = SCHEMAS.get(type)?.safeParse(json);
  // The compiler does not follow which type has which fields; LINES does.
  return parsed?.success ? (parsed.data as TaskEvent) : null;
}
