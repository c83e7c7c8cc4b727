import { percent, type TaskProgressEvent } from "../../core/task/progress-events.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { FreeAt } from "../../task/intent.ts";
import type { CheckedRequest } from "../../task/request.ts";
import { creditsText } from "../text/phrases.ts";

/** The spinner's text on the request of a task. */
export type RequestFacts = Pick<CheckedRequest, "request" | "credits"> & { free?: FreeAt | null };

/** What the spinner shows. */
export interface TaskView {
  verb: string;
  /** When that began, by the monotonic clock. */
  sinceMs: number;
  usualMs: number | null;
  taskId: string | null;
  /** How far the image is, or how many requests are before it; empty where that is not said. */
  progress: string;
}

export function newView(): TaskView {
  return { verb: "", sinceMs: 0, usualMs: null, taskId: null, progress: "" };
}

/** Takes an event into what is shown. @returns whether that has changed */
export function showInView(view: TaskView, event: TaskProgressEvent, nowMs: number): boolean {
  switch (event.type) {
    case "uploading":
      return begin(view, "Uploading", nowMs);
    case "claimed_elsewhere":
      return begin(view, "Waiting for another process", nowMs);
    case "submitting":
      view.progress = "";
      return begin(view, event.taskId === undefined ? "Submitting" : "Generating", nowMs);
    case "accepted":
      view.taskId = event.taskId;
      return begin(view, "Generating", nowMs);
    case "waiting":
      view.taskId = event.taskId;
      view.usualMs = event.usualMs;
      return view.verb === "Generating" || begin(view, "Generating", nowMs);
    case "progress": {
      const { waiting, share } = event;
      const verb = waiting === null ? "Generating" : `Waiting for ${waiting.holder}`;
      if (view.verb !== verb) begin(view, verb, nowMs);
      if (waiting === null) view.progress = share === null ? "" : percent(share);
      else view.progress = waiting.ahead > 1 ? `${waiting.ahead} requests before it` : "";
      return true;
    }
    case "downloading":
      view.progress = "";
      return begin(
        view,
        event.count === 1 ? "Downloading" : `Downloading ${event.index} of ${event.count}`,
        nowMs,
      );
    default:
      return false;
  }
}

function begin(view: TaskView, verb: string, nowMs: number): true {
  view.verb = verb;
  view.sinceMs = nowMs;
  return true;
}

/** The spinner's line: whole, or without the cost, or without the model too, as the columns allow. */
export function lineOf(view: TaskView, ageMs: number, facts: RequestFacts | null, columns: number): string {
  const { usualMs } = view;
  const verb = [view.verb, view.progress].filter(Boolean).join(", ");
  const time = timeText(ageMs, view.verb === "Generating" ? usualMs : null);
  const kind = facts === null ? "" : [facts.request.model, facts.request.quality].filter(Boolean).join(" ");
  const cost = facts === null ? "" : creditsText(facts.credits, facts.free);
  const choices = [[verb, kind, time, cost], [verb, kind, time], [verb, time], [verb]];
  const lines = choices.map((choice) => choice.filter((part) => part !== "").join(" · "));
  return lines.find((line) => line.length <= columns) ?? verb;
}

function timeText(ageMs: number, usualMs: number | null): string {
  const age = ageMs < 1000 ? "" : wholeSeconds(ageMs);
  if (usualMs === null || usualMs < 1000) return age;
  if (ageMs > usualMs) return `${age}, usually ${wholeSeconds(usualMs)}`;
  return age === "" ? `about ${wholeSeconds(usualMs)}` : `${age} of about ${wholeSeconds(usualMs)}`;
}

function wholeSeconds(ms: number): string {
  return formatDuration(Math.round(ms / 1000) * 1000);
}
