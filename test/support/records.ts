import type { Intent } from "../../src/task/intent.ts";
import type { TaskEvent } from "../../src/task/lifecycle.ts";
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

/** One event of each type, at a time when nothing happened. */
export const EVENTS = {
  intent: { type: "intent", v: 1, at: AT, owner: identity(1), until: UNTIL, ...INTENT },
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
  lost: { type: "lost", at: AT, why: "The reply was cut." },
  failed: { type: "failed", at: AT, errorCode: "17" },
  saved: { type: "saved", at: AT, files: [] },
  released: { type: "released", at: AT },
} satisfies { [Type in TaskEvent["type"]]: TaskEvent & { type: Type } };

/** Events as the lines of a task's file. */
export function linesOf(...events: TaskEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join("");
}
