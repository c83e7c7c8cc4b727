// Reads what the service sends: unknown fields are ignored, known ones must be valid. By hand: each run reads one reply
// to a submit, and a validation library takes longer to load than everything else that follows.

import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import type { PolledState } from "../provider.ts";

/** Section 2.1: every reply. */
export type Envelope =
  | { kind: "success"; data: unknown }
  | { kind: "error"; key: string }
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
  const { code: written, message, data } = fieldsOf(json);
  const code = codeOf(written);
  if (code === null) return { kind: "invalid", why: "JSON that is not the service's envelope" };
  if (code < 0) {
    const key = typeof message === "string" ? message : `code ${code}`;
    return { kind: "error", key };
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

/**
 * Reads the task record (section 2.3), reduced to the client rule of section 3; null if `data` is none. A status that
 * the document does not name means running.
 */
export function parsePolledState(data: unknown): PolledState | null {
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

/** Zero in any form means no error; anything else is returned as text. */
function failureCode(value: unknown): string | null {
  if (!Number.isFinite(value) && typeof value !== "string") return null;
  if (typeof value === "string" && value.trim() === "") return null;
  return Number(value) === 0 ? null : String(value);
}
