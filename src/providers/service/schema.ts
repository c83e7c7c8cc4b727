// Reads what the service sends: unknown fields are ignored, known ones must be valid. By hand: each run reads one reply
// to a submit, and a validation library takes longer to load than everything else that follows.

import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import type { Usage } from "../../task/lifecycle.ts";

/** Section 2.1: every reply. */
export type Envelope =
  | { kind: "success"; data: unknown }
  /** `sent`: whether a request of the task has reached the generator, where the queue before it says so. */
  | { kind: "error"; key: string; detail?: string; sent?: boolean }
  /** Not an envelope at all, or one that the document does not know. */
  | { kind: "invalid"; why: string };

/**
 * Reads a reply's body: `code` first; 0 is success, any negative value an error with the key in `message`.
 * @param maskKey is applied to every text in it
 */
export function parseEnvelope(body: string, maskKey = (text: string) => text): Envelope {
  let json: unknown;
  try {
    // Some servers begin JSON with a byte-order mark.
    json = JSON.parse(body.replace(/^\uFEFF/, ""), (_name, value) =>
      typeof value === "string" ? maskKey(value) : value,
    );
  } catch {
    return { kind: "invalid", why: body.trim() === "" ? "an empty reply" : describeText(body) };
  }
  const { code: written, message, data, detail, sent } = fieldsOf(json);
  const code = codeOf(written);
  if (code === null) return { kind: "invalid", why: "JSON that is not the service's envelope" };
  if (code < 0) {
    const key = typeof message === "string" ? message : `code ${code}`;
    return { kind: "error", key, ...(isText(detail) && { detail, ...(sent === true && { sent }) }) };
  }
  if (code > 0) return { kind: "invalid", why: `an envelope with the code ${code}` };
  return { kind: "success", data };
}

/** A code in quotes counts as its number. */
function codeOf(value: unknown): number | null {
  // JSON can contain numbers that parse to Infinity.
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" && /^-?\d{1,9}$/.test(value) ? Number(value) : null;
}

function describeText(body: string): string {
  return isPage(body) ? HTML_PAGE : "text that is not JSON";
}

/** Whether a body is what people read in a browser, and no service's answer. */
export function isPage(body: string): boolean {
  return /^\s*</.test(body);
}

/** What such a body is, in messages. */
export const HTML_PAGE = "an HTML page";

const LONGEST_TASK_ID = 256;

/**
 * A task id that is safe to store, print and send back: text of 1 to 256 characters with no control
 * character and no path step in it.
 */
export function isTaskId(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.trim() !== "" &&
    value.length <= LONGEST_TASK_ID &&
    value.isWellFormed() &&
    !/[\p{Cc}]|\.\.[/\\]/u.test(value)
  );
}

/** The `taskId` of section 4.1, or null if there is no usable one. */
export function parseTaskId(data: unknown): string | null {
  const taskId = fieldsOf(data).taskId;
  return isTaskId(taskId) ? taskId : null;
}

/** A task as polling shows it (section 2.3), reduced to the client rule of section 3. */
export type PolledState =
  | { status: "running"; word: string | null; queue?: QueueFacts }
  /** `why`: what is not as it was asked for. */
  | { status: "completed"; urls: string[]; usage?: Usage; why?: string }
  | { status: "failed"; errorCode: string | null; why?: string; charged?: "no" }
  /** Only with the user's own generator: a paid request was sent, and its reply was lost. */
  | { status: "lost"; why: string };

/** What the queue before the user's own generator says of a task that runs. */
export interface QueueFacts {
  /** Whether it has not begun, because other tasks have all places. */
  isWaiting: boolean;
  /** How many tasks are before it; null if that is not said. */
  ahead: number | null;
  /** How far its image is, from 0 to 1; null if that is not said. */
  share: number | null;
  /** What holds it up, in words for the user; null for nothing. */
  why: string | null;
}

/**
 * Reads the task record; null if `data` is none. A status that the document does not name means running.
 * @param ofGenerator whether the embedded service before the user's own generator sent it, which says more
 */
export function parsePolledState(data: unknown, ofGenerator = false): PolledState | null {
  const state = parseDocumented(data);
  return state !== null && ofGenerator && isJsonObject(data) ? withMore(state, data) : state;
}

function parseDocumented(data: unknown): PolledState | null {
  if (!isJsonObject(data)) return null;
  const { status, resultUrl } = data;
  const errorCode = failureCode(data.errorCode);
  const urls = [resultUrl]
    .flat()
    .filter((url): url is string => typeof url === "string" && url.trim() !== "");
  if (status === "completed" && urls.length > 0) return { status: "completed", urls };
  if (status === "failed" || errorCode !== null) return { status: "failed", errorCode };
  return { status: "running", word: typeof status === "string" ? status : null };
}

function withMore(state: PolledState, data: Readonly<Record<string, unknown>>): PolledState {
  const { usage } = data;
  const why = isText(data.detail) ? data.detail : null;
  switch (state.status) {
    case "running": {
      const isWaiting = data.status === "queued";
      return {
        ...state,
        queue: { isWaiting, ahead: numberIn(data.ahead), share: numberIn(data.progress), why },
      };
    }
    case "completed":
      return { ...state, ...(isJsonObject(usage) && { usage }), ...(why !== null && { why }) };
    case "failed":
      if (data.outcome === "unknown") return { status: "lost", why: why ?? "its reply was lost." };
      return { ...state, ...(why !== null && { why }), ...(data.outcome === "refused" && { charged: "no" }) };
    case "lost":
      return state;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function numberIn(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

/** Zero in any form means no error; anything else is returned as text. */
function failureCode(value: unknown): string | null {
  if (!Number.isFinite(value) && typeof value !== "string") return null;
  if (typeof value === "string" && value.trim() === "") return null;
  return Number(value) === 0 ? null : String(value);
}
