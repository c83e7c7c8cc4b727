import { type Intent, type IntentTerms, serviceTerms } from "../../src/task/intent.ts";
import type { Line } from "../../src/task/line.ts";
import { type Task, taskFromIntent, withLine } from "../../src/task/task.ts";

export const AT = "2026-01-31T12:00:00.000Z";

/** What a test asks for where it does not matter what. */
export const INTENT: Intent = {
  request: { prompt: "a fox", model: "gamma-image-2" },
  service: { baseUrl: "https://api.example/api", keyId: "0123456789abcdef" },
  credits: 2,
  destination: { kind: "folder", folder: "/tmp/images", template: "{slug}.{ext}", overwrite: false },
  ...serviceTerms({}),
};

/** What a task is worth at a provider that answers with its images: paid, one request. */
export const WORK: IntentTerms = {
  taskId: "task_of_ours",
  isPaid: true,
  requests: 1,
  requestMs: 600_000,
  options: { model: "flux", width: 1024, height: 1024, sizeForm: null, fields: {} },
};

/** A task from its intent and its further lines. @param work of a provider other than the hosted service */
export function recordOf(lines: readonly Line[], work?: Partial<IntentTerms>, intent = INTENT): Task {
  const asked = { ...intent, ...(work && { ...WORK, ...work }) };
  return lines.reduce(withLine, taskFromIntent("x", { ...LINES.intent, ...asked }));
}

const of = { at: AT, request: 0, attempt: "1.0" };

/** One line of each type, about the first attempt at the first request, at a time when nothing happened. */
export const LINES = {
  intent: { type: "intent", v: 2, at: AT, holder: "0123456789abcdef", ...INTENT },
  taken: { type: "taken", at: AT, holder: "fedcba9876543210" },
  released: { type: "released", at: AT },
  started: { type: "started", ...of },
  waiting: { type: "waiting", ...of, why: "busy" },
  not_sent: { type: "not_sent", at: AT, request: 0, why: "refused" },
  refused: {
    type: "refused",
    ...of,
    error: { type: "auth_required", key: "login_required", message: "No." },
  },
  unknown: { type: "unknown", ...of, why: "silence" },
  dismissed: { type: "dismissed", at: AT, why: "settled by the user", replacement: null },
  accepted: { type: "accepted", ...of, taskId: "task-1" },
  gone: { type: "gone", ...of, why: "HTTP 404" },
  completed: { type: "completed", ...of, urls: ["https://cdn.example/1.png"], seenMs: 8000, pendingMs: null },
  partly_saved: { type: "partly_saved", at: AT, files: [] },
  failed: { type: "failed", ...of, errorCode: "17" },
  saved: { type: "saved", at: AT, files: [] },
} satisfies { [Type in Line["type"]]: Line & { type: Type } };

/** Lines of a task's file. */
export function linesOf(...lines: Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
