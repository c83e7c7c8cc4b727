import * as z from "zod/mini";
import type { ErrorType } from "../lib/error-types.ts";
import { isJsonObject, jsonOrNull } from "../lib/json.ts";
import type { ProcessIdentity } from "../lib/processes.ts";
import type { SaveOptions } from "../task/intent.ts";
import { advance, type EventType, type TaskEvent } from "../task/lifecycle.ts";
import { begunTask, type TaskRecord } from "../task/record.ts";
import type { GenerationRequest } from "../task/request.ts";
import { areSentFields } from "../task/request-fields.ts";
import type { SavedFile } from "../task/saved-file.ts";
import { LEDGER_VERSION } from "./task-file.ts";

/** What a file in the ledger turned out to be. */
export type ReadTask =
  | { kind: "task"; record: TaskRecord }
  /** The process ended while it wrote the intent, so nothing was ever sent. */
  | { kind: "stub" }
  /** The cause is there where the system did not give the file: its content may be whole. */
  | { kind: "damaged"; why: string; cause?: unknown }
  | { kind: "newer"; version: number };

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
  url: text,
  mediaType: text,
  bytes: z.number(),
  sha256: text,
  width: z.number(),
  height: z.number(),
  originalSha256: z.exactOptional(text),
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

/** What each line of a task file holds beside its type. */
const LINES: { [Type in EventType]: Fields<Omit<Extract<TaskEvent, { type: Type }>, "type">> } = {
  intent: {
    v: z.literal(LEDGER_VERSION),
    id: z.exactOptional(text),
    at: text,
    owner,
    until: z.exactOptional(text),
    request: z.custom<GenerationRequest>(isRequest),
    service: z.object({ baseUrl: text, keyId: text }),
    credits: numberOrNull,
    destination,
    queue: z.exactOptional(text),
  },
  rate_limited: { at: text, why: text, until: text },
  submitting: { at: text, until: text },
  not_sent: { at: text, why: text },
  // An error type that a newer release knows is no reason to take the request for one that may be charged.
  refused: {
    at: text,
    error: z.object({
      type: z.custom<ErrorType>((type) => typeof type === "string"),
      key: textOrNull,
      message: text,
    }),
  },
  unknown: { at: text, why: text, excerpt: z.exactOptional(text) },
  dismissed: { at: text, why: text, replacement: textOrNull },
  accepted: { at: text, taskId: text },
  completed: {
    at: text,
    urls: z.array(text),
    seenMs: numberOrNull,
    pendingMs: numberOrNull,
    usage: z.exactOptional(z.record(text, z.unknown())),
  },
  partly_saved: { at: text, files: z.array(z.nullable(savedFile)) },
  lost: { at: text, why: text },
  failed: {
    at: text,
    errorCode: textOrNull,
    why: z.exactOptional(text),
    charged: z.exactOptional(z.literal("no")),
  },
  saved: { at: text, files: z.array(savedFile) },
  released: { at: text },
};

const SCHEMAS = new Map(
  Object.entries(LINES).map(([type, fields]) => [type, z.object({ type: z.literal(type), ...fields })]),
);

/** Fields that this release does not know are kept, so that the request still compares as equal. */
function isRequest(value: unknown): value is GenerationRequest {
  return isJsonObject(value) && "prompt" in value && "model" in value && areSentFields(value);
}

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
  const isReleased = events.some(({ type }) => type === "released");
  const owner = isReleased ? null : begun.owner;
  return { kind: "task", record: { ...begun, owner, state: events.reduce(advance, begun.state) } };
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
