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

/** `2 credits`, `1 credit`, `free`, or an unknown cost. */
export function creditsText(credits: number | null, free: FreeProvider | null = null): string {
  if (free === "sandbox") return "free (sandbox)";
  if (free !== null || credits === 0) return "free";
  if (credits === null) return "cost unknown";
  return pluralize(credits, "credit");
}

/** A cost in a table; `?` if it is not documented. */
export function creditsCell(credits: number | null, free: FreeProvider | null = null): string {
  return free === null ? String(credits ?? "?") : "free";
}

/** Text about an event for a person at a command, with advice about flags and Ctrl-C. */
export function noteText(event: RunEvent): string {
  const text = eventText(event);
  if (event.type === "continuing") return text.replace(/\.$/, "; --again submits a new one.");
  if (event.type !== "submit_interrupted") return text;
  return stoppingText(event.waitMs, event.taskId === null ? [] : [event.taskId]);
}

/**
 * The failure for a person: what happened, and what to do next. Only a manifest's problems have lines of their own.
 * @param which prefix that names the task if there are several
 * @param verbose whether to add the service's error key, for looking the error up
 */
export function failureLines(
  { error }: FailureJson,
  { which = "", verbose = false }: { which?: string; verbose?: boolean | undefined } = {},
): string[] {
  const isShown = verbose && error.key !== null && !error.message.includes(error.key);
  const key = isShown ? ` [${error.key}]` : "";
  // Ctrl-C is no error of the user.
  const label = error.type === "interrupted" ? "" : "error: ";
  const text = `${label}${which}${error.message}${key}`;
  const lines = error.problems ? text.split("\n") : [text];
  return error.hint === "" ? lines : [...lines, ...error.hint.split("\n").map((line) => `  ${line}`)];
}

/** Path of a file, relative to the working folder if that is shorter. */
export function shortPath(file: string, { resolvePath }: Pick<ProcessContext, "resolvePath">): string {
  try {
    const relative = path.relative(resolvePath("."), file);
    return relative.length < file.length ? relative : file;
  } catch {
    // The working folder is gone.
    return file;
  }
}

/**
 * Text for a signal that comes while requests are in flight.
 * @param waitMs maximum wait for their replies; null: no limit, because they are paid
 * @param taskIds of those that have one
 */
export function stoppingText(
  waitMs: number | null,
  taskIds: readonly string[],
  requests = taskIds.length,
): string {
  if (waitMs === null) {
    const [replies, it] =
      taskIds.length > 1 ? ["the replies of paid tasks", "them"] : ["the reply of paid task", "it"];
    return `Waiting for ${replies} ${joinFirst(taskIds, FIRST_IDS)}, so that no image is lost. Ctrl-C again gives ${it} up; ${resumeText(taskIds)}`;
  }
  const ids = requests === 1 ? "the task id of the request" : "the task ids of requests";
  return `Stopping. Waiting up to ${formatDuration(waitMs)} for ${ids} in flight…`;
}

/** The message when a second signal gives up the replies of these tasks. */
export function givenUpText(taskIds: readonly string[]): string {
  const replies = taskIds.length > 1 ? "The replies of tasks" : "The reply of task";
  return `${replies} ${joinFirst(taskIds, FIRST_IDS)} ${taskIds.length > 1 ? "were" : "was"} not waited for; ${resumeText(taskIds)}`;
}

const FIRST_IDS = 4;

function resumeText(taskIds: readonly string[]): string {
  const [taskId = "", ...others] = taskIds;
  return `to resume: ${others.length === 0 ? resumeCommand(taskId) : "imggen resume"}`;
}

/** Result of a cancel at a provider. Only the provider knows whether the task is charged. */
export function stoppedText({ taskId, name, isStopped }: StopResult): string {
  if (isStopped === null) return `${name} did not answer, so task ${taskId} may go on.`;
  if (!isStopped) return `${name} did not cancel task ${taskId}, which goes on.`;
  return `${name} has cancelled task ${taskId}. To see what became of it: ${resumeCommand(taskId)}`;
}
