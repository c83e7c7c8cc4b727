import * as z from "zod/mini";

// What the service sends, read tolerantly: unknown fields pass, known ones must make sense.

/** Section 2.1: every reply. A code that came as digits in quotes is taken for the number it shows. */
const envelope = z.object({
  code: z.union([z.number(), z.pipe(z.string().check(z.regex(/^-?\d{1,9}$/)), z.transform(Number))]),
  message: z.optional(z.nullable(z.unknown())),
  data: z.optional(z.nullable(z.unknown())),
});

export type Envelope =
  | { kind: "success"; data: unknown }
  | { kind: "error"; key: string }
  /** Not an envelope at all, or one that the document does not know. */
  | { kind: "nonsense"; why: string };

/** Reads a reply's body: `code` first; 0 is success, any negative value an error with the key in `message`. */
export function parseEnvelope(body: string): Envelope {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { kind: "nonsense", why: body.trim() === "" ? "an empty reply" : describeText(body) };
  }
  const parsed = envelope.safeParse(json);
  if (!parsed.success) return { kind: "nonsense", why: "JSON that is not the service's envelope" };
  const { code, message, data } = parsed.data;
  if (code < 0) return { kind: "error", key: typeof message === "string" ? message : `code ${code}` };
  if (code > 0) return { kind: "nonsense", why: `an envelope with the code ${code}` };
  return { kind: "success", data };
}

function describeText(body: string): string {
  return /^\s*</.test(body) ? "an HTML page" : "text that is not JSON";
}

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

const submitted = z.object({ taskId: z.custom<string>(isTaskId) });

/** The `taskId` of section 4.1, or null where there is none that can be used. */
export function parseTaskId(data: unknown): string | null {
  const parsed = submitted.safeParse(data);
  return parsed.success ? parsed.data.taskId : null;
}

/** A task as polling shows it (section 2.3), reduced to the client rule of section 3. */
export type TaskState =
  | { status: "running"; word: string | null }
  | { status: "completed"; urls: string[] }
  | { status: "failed"; errorCode: string | null };

const record = z.object({
  // A field that is missing is no error to catch: those are slow to make, and each look would make some.
  status: z.catch(z.nullish(z.string()), null),
  resultUrl: z.catch(z.optional(z.union([z.array(z.unknown()), z.string()])), ""),
  errorCode: z.catch(z.nullish(z.union([z.number(), z.string()])), null),
});

/** Reads the task record; null where `data` is none. A status that the document does not name is running. */
export function parseTaskState(data: unknown): TaskState | null {
  const parsed = record.safeParse(data);
  if (!parsed.success) return null;
  const { status, resultUrl } = parsed.data;
  const errorCode = failureCode(parsed.data.errorCode ?? null);
  const urls = [resultUrl]
    .flat()
    .filter((url): url is string => typeof url === "string" && url.trim() !== "");
  if (status === "completed" && urls.length > 0) return { status: "completed", urls };
  if (status === "failed" || errorCode !== null) return { status: "failed", errorCode };
  return { status: "running", word: status ?? null };
}

/** Zero is no error in any spelling; what is not zero is shown as it came. */
function failureCode(value: number | string | null): string | null {
  if (value === null || (typeof value === "string" && value.trim() === "")) return null;
  return Number(value) === 0 ? null : String(value);
}
