import type { ProgressFacts } from "../core/engine/events.ts";
import type { OutageEvent } from "../core/limits/gate.ts";
import type { RunEvent } from "../core/use-cases/run-events.ts";
import { formatDuration } from "../lib/duration.ts";
import { toSentence } from "../lib/short-text.ts";

/** Returns a sentence about an event, or an empty text for events that are not displayed. */
export function eventText(event: RunEvent): string {
  switch (event.type) {
    case "uploading":
      return `Uploading ${event.file}…`;
    case "claimed_elsewhere":
      return `Waiting for another process, which is working on ${event.id}.`;
    case "continuing":
      return `Continuing ${event.taskId}, ${event.charged === "yes" ? "charged" : "begun"} earlier.`;
    case "submitting":
      return "Submitting the request.";
    case "submit_retry":
      return `${event.isLost ? toSentence(event.why) : `Not sent yet: ${event.why}`} Next try in ${formatDuration(event.delayMs)}.`;
    case "submit_interrupted":
      return event.waitMs === null
        ? `Stopping. Waiting for the reply of task ${event.taskId}, which is paid for.`
        : `Stopping. Waiting up to ${formatDuration(event.waitMs)} for the task's id.`;
    case "accepted":
      return `Task ${event.taskId} accepted.`;
    case "waiting":
      return `Waiting for task ${event.taskId}${usualTimeText(event.usualMs)}.`;
    case "progress":
      return `Task ${event.taskId}: ${progressText(event)}`;
    case "poll_failed":
      return `Task ${event.taskId}: ${event.why}. Still waiting.`;
    case "downloading":
      return `Downloading image ${event.index} of ${event.count} of task ${event.taskId}.`;
    case "downloaded":
      return `Downloading an image of task ${event.taskId}: ${event.bytes} bytes so far.`;
    case "download_retry":
      return `Task ${event.taskId}: ${event.why}. Next try in ${formatDuration(event.delayMs)}.`;
    case "saved":
      return `Saved ${event.file.path}.`;
    case "ledger_warning":
      return event.message;
    case "outage":
      return outageText(event.outage);
    case "busy":
      return `${event.why.replace(/\.$/, "")}: all rows wait ${formatDuration(event.delayMs)}.`;
    default:
      return "";
  }
}

function outageText(outage: OutageEvent): string {
  if (!outage.down) return "The service is back.";
  const reason = outage.why.replace(/\.$/, "");
  return outage.isOfPolls
    ? `Running tasks cannot be polled: ${reason}. Still waiting.`
    : `Submitting is paused: ${reason}.`;
}

export function stepText(event: RunEvent): string {
  switch (event.type) {
    case "uploading":
      return "Uploading";
    case "claimed_elsewhere":
      return "Waiting for another process";
    case "submitting":
      return event.taskId === undefined ? "Submitting" : "Generating";
    case "accepted":
    case "waiting":
      return "Generating";
    case "progress":
      return event.waiting === null ? "Generating" : `Waiting for ${event.waiting.holder}`;
    case "downloading":
      return event.count === 1 ? "Downloading" : `Downloading ${event.index} of ${event.count}`;
    default:
      return "";
  }
}

/** Returns `40%` or the number of requests ahead; empty if unknown, or if only one request is ahead. */
export function shareText({ share, waiting }: ProgressFacts): string {
  if (waiting !== null) return waiting.ahead > 1 ? `${waiting.ahead} requests before it` : "";
  return share === null ? "" : `${Math.round(100 * Math.min(share, 1))}%`;
}

/** Returns the progress of a task at the user's generator, as the end of a sentence. */
export function progressText(facts: ProgressFacts): string {
  const activity = facts.waiting === null ? "generating" : `waiting for ${facts.waiting.holder}`;
  return `${[activity, shareText(facts)].filter(Boolean).join(", ")}.`;
}

function usualTimeText(ms: number | null): string {
  return ms === null ? "" : `, which usually takes ${formatDuration(Math.ceil(ms / 1000) * 1000)}`;
}
