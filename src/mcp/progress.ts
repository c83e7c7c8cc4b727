import type { ServerContext } from "@modelcontextprotocol/server";
import { type OnTaskProgress, progressText, type TaskProgressEvent } from "../core/task/progress-events.ts";
import type { Clock } from "../lib/clock.ts";

/** Many clients give a call up that has said nothing for a minute. */
const HEARTBEAT_MS = 10_000;

export interface CallProgress {
  onProgress: OnTaskProgress;
  stop(): void;
}

/** Tells the client how a call is getting on, where it has asked for that. */
export function progressOf(
  { _meta, notify }: Pick<ServerContext["mcpReq"], "_meta" | "notify">,
  clock: Clock,
): CallProgress {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { onProgress() {}, stop() {} };
  let progress = 0;
  let message = "";
  const tell = () => {
    progress += 1;
    const params = { progressToken, progress, message };
    // A client that has gone away is noticed elsewhere.
    notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const over = new AbortController();
  void repeat(HEARTBEAT_MS, tell, clock, over.signal);
  return {
    onProgress(event) {
      message = messageOf(event);
      tell();
    },
    stop: () => over.abort(),
  };
}

async function repeat(everyMs: number, tell: () => void, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(everyMs, signal);
      tell();
    }
  } catch {
    // The call is over.
  }
}

function messageOf(event: TaskProgressEvent): string {
  switch (event.type) {
    case "uploading":
      return `Uploading ${event.file}.`;
    case "claimed_elsewhere":
      return `Waiting for another process, which is working on ${event.id}.`;
    case "continuing":
      return `Continuing task ${event.taskId}, which was ${event.charged === "no" ? "begun" : "charged"} earlier.`;
    case "submitting":
      return "Submitting the request.";
    case "submit_retry":
      return `Not accepted yet: ${event.why}`;
    case "submit_interrupted":
      return event.waitMs === null
        ? `Cancelled while it was made; waiting for the image of task ${event.taskId}, which is paid for.`
        : "Cancelled while it was submitted; waiting for the task's id.";
    case "accepted":
      return `Accepted as task ${event.taskId}.`;
    case "waiting":
      return `Waiting for task ${event.taskId}${usually(event.usualMs)}.`;
    case "progress":
      return `Task ${event.taskId}: ${progressText(event)}`;
    case "poll_failed":
      return `Task ${event.taskId} could not be polled: ${event.why}`;
    case "downloading":
      return `Downloading image ${event.index} of ${event.count} of task ${event.taskId}.`;
    case "downloaded":
      return `Downloading an image of task ${event.taskId}: ${event.bytes} bytes so far.`;
    case "download_retry":
      return `An image of task ${event.taskId} could not be downloaded: ${event.why}`;
    case "saved":
      return `Saved ${event.file.path}.`;
    case "ledger_warning":
      return event.message;
  }
}

function usually(ms: number | null): string {
  return ms === null ? "" : `, which usually takes ${Math.ceil(ms / 1000)} s`;
}
