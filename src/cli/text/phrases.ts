import path from "node:path";
import type { FailureJson } from "../../client/results.ts";
import { eventText } from "../../client/run-text.ts";
import type { ProcessContext } from "../../client/this-process.ts";
import type { StopResult } from "../../core/engine/stoppable-jobs.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import { formatDuration } from "../../lib/duration.ts";
import { joinFirst } from "../../lib/short-text.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { resumeCommand } from "../../lib/wording.ts";
import type { FreeProvider } from "../../task/intent.ts";

export function creditsText(credits: number | null, free: FreeProvider | null = null): string {
  if (free === "sandbox") return "free (sandbox)";
  if (free !== null || credits === 0) return "free";
  if (credits === null) return "cost unknown";
  return pluralize(credits, "credit");
}

export function creditsCell(credits: number | null, free: FreeProvider | null = null): string {
  return free === null ? String(credits ?? "?") : "free";
}

export function noteText(event: RunEvent): string {
  const text = eventText(event);
  if (event.type === "continuing") return text.replace(/\.$/, "; --again submits a new task.");
  if (event.type !== "submit_interrupted") return text;
  return stoppingText(event.waitMs, event.taskId === null ? [] : [event.taskId]);
}

/**
 * @param options.prefix text that identifies the task, if there are several tasks
 * @param options.verbose whether to add the error key of the service
 */
export function failureLines(
  { error }: FailureJson,
  { prefix = "", verbose = false }: { prefix?: string; verbose?: boolean | undefined } = {},
): string[] {
  const isShown = verbose && error.key !== null && !error.message.includes(error.key);
  const key = isShown ? ` [${error.key}]` : "";
  // An interruption is not labelled as an error, because the user requested it.
  const label = error.type === "interrupted" ? "" : "error: ";
  const text = `${label}${prefix}${error.message}${key}`;
  const lines = error.problems ? text.split("\n") : [text];
  return error.hint === "" ? lines : [...lines, ...error.hint.split("\n").map((line) => `  ${line}`)];
}

export function shortPath(file: string, { resolvePath }: Pick<ProcessContext, "resolvePath">): string {
  try {
    const relative = path.relative(resolvePath("."), file);
    return relative.length < file.length ? relative : file;
  } catch {
    // The error occurs if the working folder was removed.
    return file;
  }
}

/**
 * @param waitMs maximum wait for the replies, in milliseconds; null for no limit, because the requests are paid
 * @param taskIds known task ids of the requests
 */
export function stoppingText(
  waitMs: number | null,
  taskIds: readonly string[],
  requests = taskIds.length,
): string {
  if (waitMs === null) {
    const [paidReplies, pronoun] =
      taskIds.length > 1 ? ["the replies of paid tasks", "them"] : ["the reply of paid task", "it"];
    return `Waiting for ${paidReplies} ${joinFirst(taskIds, MAX_SHOWN_IDS)}, so that no image is lost. Ctrl-C again stops waiting for ${pronoun}; ${resumeText(taskIds)}`;
  }
  const idsText = requests === 1 ? "the task id of the request" : "the task ids of requests";
  return `Stopping. Waiting up to ${formatDuration(waitMs)} for ${idsText} in flight…`;
}

export function givenUpText(taskIds: readonly string[]): string {
  const replies = taskIds.length > 1 ? "the replies of tasks" : "the reply of task";
  return `Stopped waiting for ${replies} ${joinFirst(taskIds, MAX_SHOWN_IDS)}; ${resumeText(taskIds)}`;
}

const MAX_SHOWN_IDS = 4;

function resumeText(taskIds: readonly string[]): string {
  const [taskId = "", ...others] = taskIds;
  return `to resume: ${others.length === 0 ? resumeCommand(taskId) : "imggen resume"}`;
}

/** Omits the cost, because the charge is not yet known. */
export function stoppedText({ taskId, name, isStopped }: StopResult): string {
  if (isStopped === null) return `${name} did not reply, so task ${taskId} may still be running.`;
  if (!isStopped) return `${name} did not cancel task ${taskId}, which is still running.`;
  return `${name} cancelled task ${taskId}. To see its final state: ${resumeCommand(taskId)}`;
}
