import * as z from "zod/mini";
import { advance, type TaskEvent, type TaskProgress } from "../task/lifecycle.ts";
import type { TaskRecord } from "../task/record.ts";
import type { GenerationRequest } from "../task/request.ts";
import { areSentFields, isJsonObject } from "../task/request-fields.ts";
import { LEDGER_VERSION } from "./task-file.ts";

/** What a file in the ledger turned out to be. */
export type ReadTask =
  | { kind: "task"; record: TaskRecord }
  /** The process ended while it wrote the intent, so nothing was ever sent. */
  | { kind: "stub" }
  | { kind: "damaged"; why: string }
  | { kind: "newer"; version: number };

const text = z.string();
const overwrite = z.boolean();
const destination = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), path: text, overwrite }),
  z.object({ kind: z.literal("folder"), folder: text, template: text, overwrite }),
  z.object({ kind: z.literal("stdout"), folder: text, template: text, overwrite }),
]);
const request = z.custom<GenerationRequest>(isRequest);
const savedFile = z.object({
  path: z.nullable(text),
  url: text,
  mediaType: text,
  bytes: z.number(),
  sha256: text,
  width: z.number(),
  height: z.number(),
});
const refusal = z.object({ type: text, key: z.nullable(text), message: text });

/** Releases before this one noted neither boot nor namespace, nor until when they would be submitting. */
const owner = z.object({
  pid: z.number(),
  host: text,
  started: text,
  boot: z.optional(text),
  pidNamespace: z.optional(text),
});

const event = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("intent"),
    v: z.literal(LEDGER_VERSION),
    id: z.optional(text),
    at: text,
    owner,
    until: z.optional(text),
    request,
    service: z.object({ baseUrl: text, keyId: text }),
    credits: z.nullable(z.number()),
    destination,
  }),
  z.object({ type: z.literal("rate_limited"), at: text, why: text, until: text }),
  z.object({ type: z.literal("submitting"), at: text, until: text }),
  z.object({ type: z.literal("not_sent"), at: text, why: text }),
  z.object({ type: z.literal("refused"), at: text, error: refusal }),
  z.object({ type: z.literal("unknown"), at: text, why: text, excerpt: z.optional(text) }),
  z.object({ type: z.literal("dismissed"), at: text, why: text, replacement: z.nullable(text) }),
  z.object({ type: z.literal("accepted"), at: text, taskId: text }),
  z.object({
    type: z.literal("completed"),
    at: text,
    urls: z.array(text),
    seenMs: z.nullable(z.number()),
    pendingMs: z.nullable(z.number()),
  }),
  z.object({ type: z.literal("partly_saved"), at: text, files: z.array(z.nullable(savedFile)) }),
  z.object({ type: z.literal("failed"), at: text, errorCode: z.nullable(text) }),
  z.object({ type: z.literal("saved"), at: text, files: z.array(savedFile) }),
]);

/** What this release does not know of a request stays in it: without that, it would be another request. */
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
  const { type: _type, v: _v, id: _id, at, owner, until = null, ...facts } = intent;
  let progress: TaskProgress = { status: "intended", until };
  for (const line of rest) {
    const next = parseLine(line);
    if (next) progress = advance(progress, next);
  }
  return { kind: "task", record: { id, intent: facts, owner, submittedAt: at, progress } };
}

function unreadable(line: string): ReadTask {
  const json = parseJson(line);
  if (typeof json !== "object" || json === null)
    return { kind: "damaged", why: "its first line is not JSON" };
  const version = "v" in json ? json.v : undefined;
  if (typeof version === "number" && version > LEDGER_VERSION) return { kind: "newer", version };
  return { kind: "damaged", why: "its first line is not a task" };
}

function parseLine(line: string): TaskEvent | null {
  const parsed = event.safeParse(parseJson(line));
  // exactOptionalPropertyTypes: zod's optional fields are absent, never undefined, once they come from JSON.
  return parsed.success ? (parsed.data as TaskEvent) : null;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
