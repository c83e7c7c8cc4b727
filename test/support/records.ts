import type { Intent } from "../../src/task/intent.ts";
import type { TaskEvent } from "../../src/task/task.ts";
import { begunTask, type Task, withEvent } from "../../src/task/task.ts";
import type { Work } from "../../src/task/intent.ts";
import { identity } from "./some-processes.ts";

export const AT = "2026-01-31T12:00:00.000Z";

/** Until when a claim of that moment holds that says nothing else. */
export const UNTIL = "2026-01-31T12:02:30.000Z";

/** What a test asks for where it does not matter what. */
export const INTENT: Intent = {
  request: { prompt: "a fox", model: "gamma-image-2" },
  service: { baseUrl: "https://api.example/api", keyId: "0123456789abcdef" },
  credits: 2,
  destination: { kind: "folder", folder: "/tmp/images", template: "{slug}.{ext}", overwrite: false },
};

/** What a task is worth at a provider that answers with its images: paid, one request. */
export const WORK: Work = {
  taskId: "task_of_ours",
  isPaid: true,
  requests: 1,
  requestMs: 600_000,
  options: { model: "flux", width: 1024, height: 1024, sizeForm: null, fields: {} },
};

/** A task from its intent and its further lines. @param work of a provider other than the hosted service */
export function recordOf(events: readonly TaskEvent[], work?: Partial<Work>, intent = INTENT): Task {
  const asked = { ...intent, ...(work && { work: { ...WORK, ...work } }) };
  return events.reduce(withEvent, begunTask("x", { ...EVENTS.intent, ...asked }));
}

/** One event of each type, at a time when nothing happened. */
export const EVENTS = {
  intent: { type: "intent", v: 1, at: AT, owner: identity(1), until: UNTIL, ...INTENT },
  waiting: { type: "waiting", at: AT, sent: false },
  started: { type: "started", at: AT, by: identity(1), until: UNTIL },
  taken_over: { type: "taken_over", at: AT, by: identity(2), until: UNTIL },
  rate_limited: { type: "rate_limited", at: AT, why: "busy", until: AT },
  submitting: { type: "submitting", at: AT, until: AT },
  not_sent: { type: "not_sent", at: AT, why: "refused" },
  refused: {
    type: "refused",
    at: AT,
    error: { type: "auth_required", key: "login_required", message: "No." },
  },
  unknown: { type: "unknown", at: AT, why: "silence" },
  dismissed: { type: "dismissed", at: AT, why: "settled by the user", replacement: null },
  accepted: { type: "accepted", at: AT, taskId: "task-1" },
  completed: {
    type: "completed",
    at: AT,
    urls: ["https://cdn.example/1.png"],
    seenMs: 8000,
    pendingMs: null,
  },
  partly_saved: { type: "partly_saved", at: AT, files: [] },
  failed: { type: "failed", at: AT, errorCode: "17" },
  saved: { type: "saved", at: AT, files: [] },
  released: { type: "released", at: AT },
} satisfies { [Type in TaskEvent["type"]]: TaskEvent & { type: Type } };

/** Events as the lines of a task's file. */
export function linesOf(...events: TaskEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join("");
}
