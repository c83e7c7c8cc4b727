import { describe, expect, it } from "vitest";
import { createIdReport, reportStatus, taskReport } from "../../../src/core/engine/report.ts";
import type { Line } from "../../../src/task/line.ts";
import { isResumable } from "../../../src/task/task.ts";
import { LINES, recordOf } from "../../support/records.ts";

const { started, waiting, not_sent, refused, unknown, accepted, completed, failed, saved } = LINES;

function reportAfter(...lines: Line[]) {
  return taskReport(recordOf(lines));
}

describe("a report on a task of the ledger", () => {
  it.each([
    [[], "running", "no", true, undefined],
    [[started], "running", "unknown", true, undefined],
    [[started, unknown], "unknown", "unknown", false, "outcome_unknown"],
    [[started, waiting], "running", "no", true, undefined],
    [[started, waiting, { ...started, attempt: "1.1" }], "running", "unknown", true, undefined],
    [[not_sent], "refused", "no", false, "network"],
    [[refused], "refused", "no", false, "auth_required"],
    [[accepted], "running", "yes", true, undefined],
    [[accepted, completed], "completed", "yes", true, undefined],
    [[accepted, failed], "failed", "unknown", false, "generation_failed"],
    [
      [accepted, { ...failed, why: "no cats", charged: "no" as const }],
      "failed",
      "no",
      false,
      "generation_failed",
    ],
    [
      [started, { ...failed, why: "it was cancelled.", charged: "no" as const }],
      "cancelled",
      "no",
      false,
      "generation_failed",
    ],
    [[{ ...not_sent, why: "it was cancelled" }], "cancelled", "no", false, "generation_failed"],
    [[accepted, completed, saved], "completed", "yes", false, undefined],
  ])("after %j is %s, charged %s, resumable %s", (lines, status, charged, resumable, error) => {
    const report = reportAfter(...lines);
    expect(report).toMatchObject({ ledgerId: "x", charged, credits: 2 });
    expect([reportStatus(report), isResumable(report.state)]).toEqual([status, resumable]);
    expect(report.error?.type).toBe(error);
    expect(report.error?.charged ?? charged).toBe(charged);
  });

  it("says why the outcome is unknown, as it was said when the request was sent", () => {
    const why =
      "The request was sent, but whether it was accepted is not known: the service answered with HTTP 500.";
    const { error } = reportAfter({ ...unknown, why });
    expect(error?.message).toBe(
      "Request x was sent, but whether it was accepted is not known: the service answered with HTTP 500.",
    );
  });

  it("reports how long it took, once it is completed", () => {
    const later = { ...completed, at: "2026-01-31T12:00:08.123Z" };
    expect(reportAfter(accepted, later)).toMatchObject({
      elapsedMs: 8123,
      completedAt: later.at,
      urls: later.urls,
    });
    expect(reportAfter(accepted)).toMatchObject({ elapsedMs: null, completedAt: null });
  });
});

it("a report without a wait says submitted, whatever is known of the task", () => {
  expect(reportStatus({ ...reportAfter(accepted), isAwaited: false })).toBe("submitted");
});

it("a report on a task of which only the id is known claims nothing", () => {
  expect(createIdReport("t")).toMatchObject({
    taskId: "t",
    ledgerId: null,
    charged: "unknown",
    credits: null,
  });
});
