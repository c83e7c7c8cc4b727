import { taskStatus } from "../../client/report-json.ts";
import { progressText } from "../../client/run-text.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { Console } from "../text/console.ts";
import { noteText } from "../text/phrases.ts";
import type { RunNotes } from "./run-progress.ts";

/** A line of `--progress json` (see `imggen help events`). Scripts read the fields, so a field is never removed. */
export type EventLine =
  | { type: "uploading"; file: string; bytes: number }
  | { type: "submitted" }
  | { type: "accepted"; taskId: string; request: number }
  | { type: "polling"; taskId: string; usualMs: number | null }
  | { type: "progress"; taskId: string; ahead: number | null; share: number | null; message: string | null }
  | { type: "downloading"; taskId: string; bytes: number }
  | { type: "saved"; taskId: string; path: string | null; mediaType: string; bytes: number; sha256: string }
  | { type: "retry"; taskId: string | null; message: string; delayMs: number | null }
  | { type: "stopping"; taskId: string | null; waitMs: number | null }
  | { type: "paused"; message: string }
  | { type: "unpaused" }
  | { type: "row"; row: number; line: number; taskId: string | null; status: string }
  | { type: "note" | "warning" | "error"; message: string };

function eventLine(event: RunEvent): EventLine | null {
  switch (event.type) {
    case "uploading":
      return { type: "uploading", file: event.file, bytes: event.bytes };
    case "claimed_elsewhere":
    case "continuing":
      return { type: "note", message: noteText(event) };
    case "submitting":
      return { type: "submitted" };
    case "submit_retry":
      return { type: "retry", taskId: null, message: event.why, delayMs: event.delayMs };
    case "submit_interrupted":
      return { type: "stopping", taskId: event.taskId, waitMs: event.waitMs };
    case "accepted":
      return { type: "accepted", taskId: event.taskId, request: event.request };
    case "waiting":
      return { type: "polling", taskId: event.taskId, usualMs: event.usualMs };
    case "progress": {
      const { taskId, share, waiting } = event;
      const message = waiting && progressText(event);
      return { type: "progress", taskId, ahead: waiting?.ahead ?? null, share, message };
    }
    case "poll_failed":
      return { type: "retry", taskId: event.taskId, message: event.why, delayMs: null };
    case "downloading":
      return { type: "downloading", taskId: event.taskId, bytes: 0 };
    case "downloaded":
      return { type: "downloading", taskId: event.taskId, bytes: event.bytes };
    case "download_retry":
      return { type: "retry", taskId: event.taskId, message: event.why, delayMs: event.delayMs };
    case "saved": {
      const { path, mediaType, bytes, sha256 } = event.file;
      return { type: "saved", taskId: event.taskId, path, mediaType, bytes, sha256 };
    }
    case "ledger_warning":
      return { type: "warning", message: event.message };
    case "outage":
      return event.outage.down ? { type: "paused", message: event.outage.why } : { type: "unpaused" };
    case "busy":
      return {
        type: "paused",
        message: `${event.why.replace(/\.$/, "")}, for ${formatDuration(event.delayMs)}`,
      };
    case "row_ended": {
      const { row, report, state } = event.result;
      const endStatus = report === null ? "failed" : taskStatus(report);
      const status = state === "new" ? "not_sent" : endStatus;
      return { type: "row", row: row.row, line: row.line, taskId: report?.taskId ?? null, status };
    }
    default:
      return null;
  }
}

export function eventLines(console: Console): RunNotes {
  return {
    show(event) {
      const line = eventLine(event);
      if (line !== null) void console.event(line);
    },
  };
}
