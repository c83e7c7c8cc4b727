import path from "node:path";
import type { FailureJson } from "../../client/results.ts";
import type { ProcessContext } from "../../client/this-process.ts";
import { formatDuration } from "../../lib/duration.ts";
import { counted } from "../../lib/whole-number.ts";

/** `2 credits`, `1 credit`, or that the cost is unknown. */
export function creditsText(credits: number | null): string {
  if (credits === null) return "cost unknown";
  return counted(credits, "credit");
}

/** The message that the task of an earlier run is continued. */
export function continuingText(taskId: string): string {
  return `Continuing ${taskId}, charged earlier; --again submits a new one.`;
}

/** The message that a task of another process is waited for. @param id the service's, or the ledger's own */
export function claimedText(id: string): string {
  return `Waiting for another process, which is working on ${id}.`;
}

/**
 * The failure for a person: what happened, and what to do next. Only a manifest's problems have lines of their own.
 * @param which of several tasks it is of, to begin with
 * @param verbose whether the service's own key of the error is shown: it is for who looks it up
 */
export function failureLines(
  { error }: FailureJson,
  { which = "", verbose = false }: { which?: string; verbose?: boolean | undefined } = {},
): string[] {
  const isShown = verbose && error.key !== null && !error.message.includes(error.key);
  const key = isShown ? ` [${error.key}]` : "";
  // Who pressed Ctrl-C made no mistake.
  const label = error.type === "interrupted" ? "" : "error: ";
  const text = `${label}${which}${error.message}${key}`;
  const lines = error.problems ? text.split("\n") : [text];
  return error.hint === "" ? lines : [...lines, ...error.hint.split("\n").map((line) => `  ${line}`)];
}

/** A file as a person names it from where they are: relative to the working folder, where that is shorter. */
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
 * What is said when a signal comes while requests are under way.
 * @param waitMs how long their replies are waited for; null: to their end, because they are paid for
 */
export function stoppingText(waitMs: number | null, requests: number): string {
  if (waitMs === null) {
    const replies = requests === 1 ? "the reply of a paid request" : "the replies of paid requests";
    return `Waiting for ${replies}, so that no image is lost. Ctrl-C again gives it up.`;
  }
  const ids = requests === 1 ? "the task id of the request" : "the task ids of requests";
  return `Stopping. Waiting up to ${formatDuration(waitMs)} for ${ids} under way…`;
}
