import { reportStatus, type TaskReport } from "../core/task/report.ts";
import type { Failure } from "./failure.ts";
import { describeFailure } from "./failure.ts";

/** A task's report as scripts get it: the success object, or the failure object. */
export function reportJson(report: TaskReport): object {
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

export function failureJson({ charged, taskId, resume, ...error }: Failure): object {
  return { ok: false, error, taskId, charged, resume };
}
