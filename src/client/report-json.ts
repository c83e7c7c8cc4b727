import { reportStatus, type TaskReport } from "../core/task/report.ts";
import type { Failure } from "./failure.ts";
import { describeFailure } from "./failure.ts";
import type { ErrorDetail, Failed, StatusResult, TaskResult } from "./results.ts";

/** A task's report as scripts get it: the success object, or the failure object. */
export function reportJson(report: TaskReport): TaskResult {
  if (report.error) {
    const { files, warnings } = report;
    return { ...failureJson(describeFailure(report.error, report)), files, warnings };
  }
  const { taskId, request, credits, charged, files } = report;
  const { submittedAt, completedAt, elapsedMs, warnings } = report;
  return {
    ok: true,
    taskId,
    status: reportStatus(report),
    request,
    credits,
    charged,
    files,
    submittedAt,
    completedAt,
    elapsedMs,
    warnings,
    ...(report.reused && { reused: true }),
  };
}

/**
 * A task as a poll saw it: a poll that succeeded says so even where the task is still running. A URL's query may be a
 * signature, so it stays out of what is only polled.
 */
export function statusJson(report: TaskReport): StatusResult {
  const { files } = report;
  const urls = report.urls.map((url) => url.replace(/[?#].*$/s, ""));
  return { ...reportJson(report), status: reportStatus(report), urls, files };
}

export function failureJson({ charged, taskId, resume, ...error }: Failure): Failed {
  // The compiler does not follow that a type's exit code is its own; the table does.
  return { ok: false, error: error as ErrorDetail, taskId, charged, resume };
}
