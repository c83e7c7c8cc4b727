import { describe, expect, it } from "vitest";
import type { ErrorType } from "../../src/lib/error-types.ts";
import { endOf } from "../../src/serve/end.ts";
import { failedTask } from "../../src/serve/openai/openai-error.ts";
import type { Line } from "../../src/task/line.ts";
import { CANCELLED, STATES, type TaskState } from "../../src/task/task.ts";
import { LINES, recordOf } from "../support/records.ts";

const { started, waiting, not_sent, refused, unknown, dismissed, accepted, gone, completed, failed } = LINES;

const refusal = (error: Partial<Line<"refused">["error"]>): Line => ({
  ...refused,
  error: { ...refused.error, type: "generation_failed", key: null, message: "No.", ...error },
});

const GONE = /^Its provider no longer has it: HTTP 404\./;

interface Row {
  state: TaskState;
  what: string;
  lines: readonly Line[];
  requests?: number;
  isFree?: true;
  /** Type of the error that kept its rest from being sent. */
  obstacle?: ErrorType;
  /** null: it has not ended, or has images. */
  status: number | null;
  code?: string;
  says?: RegExp;
}

const UNKNOWN = { status: 422, code: "outcome_unknown" };
const FAILED = { status: 422, code: "generation_failed" };
const LOST_BEFORE = [started, unknown, not_sent] as const;

const ROWS: readonly Row[] = [
  { state: "waiting", what: "in the queue", lines: [], status: null },
  { state: "waiting", what: "refused for now", lines: [started, waiting], status: null },
  { state: "started", what: "in flight", lines: [started], status: null },
  { state: "accepted", what: "running", lines: [started, accepted], status: null },
  { state: "accepted", what: "no longer known", lines: [started, accepted, gone], ...UNKNOWN, says: GONE },
  {
    state: "accepted",
    what: "no longer known to a free generator",
    lines: [started, accepted, gone],
    isFree: true,
    ...FAILED,
    says: GONE,
  },
  {
    state: "accepted",
    what: "no longer known, and its rest was kept from being sent",
    lines: [started, accepted, gone, { ...not_sent, request: 1 }],
    requests: 2,
    obstacle: "network",
    ...UNKNOWN,
    says: GONE,
  },
  {
    state: "accepted",
    what: "no longer known, another one in the queue",
    lines: [started, accepted, gone],
    requests: 2,
    status: null,
  },
  { state: "completed", what: "to be saved", lines: [started, completed], status: null },
  {
    state: "completed",
    what: "with images that are no longer there",
    lines: [started, completed, gone],
    ...UNKNOWN,
    says: GONE,
  },
  {
    state: "completed",
    what: "with images that are no longer there, of a free generator",
    lines: [started, completed, gone],
    isFree: true,
    ...FAILED,
  },
  { state: "unknown", what: "lost", lines: [started, unknown], ...UNKNOWN, says: /^Silence\./ },
  {
    state: "unknown",
    what: "lost, and its rest was kept from being sent",
    lines: [started, unknown, { ...not_sent, request: 1 }],
    requests: 2,
    obstacle: "insufficient_credits",
    ...UNKNOWN,
  },
  { state: "dismissed", what: "given up by the user", lines: [started, unknown, dismissed], ...UNKNOWN },
  { state: "failed", what: "failed", lines: [started, accepted, failed], ...FAILED },
  {
    state: "failed",
    what: "failed, and its rest was kept from being sent",
    lines: [started, failed, { ...not_sent, request: 1 }],
    requests: 2,
    obstacle: "network",
    ...FAILED,
  },
  {
    state: "failed",
    what: "stopped by moderation",
    lines: [started, accepted, { ...failed, why: "content moderation" }],
    status: 400,
    code: "moderation_blocked",
  },
  {
    state: "cancelled",
    what: "cancelled by the user",
    lines: [started, accepted, { ...failed, why: `${CANCELLED}.` }],
    ...FAILED,
  },
  { state: "cancelled", what: "cancelled in the queue", lines: [{ ...not_sent, why: CANCELLED }], ...FAILED },
  { state: "refused", what: "refused", lines: [started, refusal({})], ...FAILED },
  {
    state: "refused",
    what: "refused as wrong",
    lines: [started, refusal({ type: "invalid_request" })],
    status: 422,
    code: "invalid_request",
  },
  {
    state: "refused",
    what: "refused by moderation",
    lines: [started, refusal({ code: "content_policy_violation" })],
    status: 400,
    code: "content_policy_violation",
  },
  ...(["auth_required", "insufficient_credits", "subscription_required"] as const).map(
    (type): Row => ({
      state: "refused",
      what: `one of several refused (${type})`,
      lines: [started, refusal({ type, message: "A safety limit." }), { ...not_sent, request: 1 }],
      requests: 2,
      obstacle: type,
      ...FAILED,
    }),
  ),
  ...(
    [
      ["network", 503, "generator_unreachable"],
      ["service_error", 503, "generator_unreachable"],
      ["auth_required", 503, "generator_account"],
      ["save_failed", 503, "disk"],
      ["insufficient_credits", 429, "insufficient_quota"],
      ["subscription_required", 429, "insufficient_quota"],
      ["budget_exceeded", 429, "insufficient_quota"],
      ["internal", 503, "not_sent"],
    ] as const
  ).flatMap(([obstacle, status, code]): Row[] => [
    { state: "not_sent", what: `not sent (${obstacle})`, lines: [not_sent], obstacle, status, code },
    {
      state: "not_sent",
      what: `answered that it was not taken, then not sent (${obstacle})`,
      lines: [started, waiting, not_sent],
      obstacle,
      status,
      code,
    },
    {
      state: "not_sent",
      what: `lost at a free generator, then not sent again (${obstacle})`,
      lines: LOST_BEFORE,
      isFree: true,
      obstacle,
      ...FAILED,
    },
  ]),
  { state: "not_sent", what: "dropped", lines: [not_sent], status: 503, code: "not_sent" },
  {
    state: "not_sent",
    what: "of several requests the first was lost at a free generator",
    lines: [...LOST_BEFORE, { ...not_sent, request: 1 }],
    requests: 2,
    isFree: true,
    ...FAILED,
  },
];

describe("the status of a task", () => {
  it.each(ROWS)("that is $state ($what) is $status", ({ lines, requests = 1, isFree, obstacle, ...row }) => {
    const task = recordOf(lines, { requests, isPaid: isFree !== true });
    expect(task.state).toBe(row.state);
    const end = endOf(task);
    if (row.status === null || end === null) return void expect([end, row.status]).toEqual([null, null]);
    if (end.name === "completed") throw new Error("it has images");
    const { status, error } = failedTask(task, end, obstacle ?? null);
    expect({ status, code: error.code }).toEqual({ status: row.status, code: row.code });
    if (row.says) expect(error.message).toMatch(row.says);
    if (status !== 429 && status !== 503)
      expect(error.message).toMatch(/\. To look it up: imggen status task_of_ours$/);
  });

  it("has a row for each state but that of images on the disk", () => {
    const states = new Set<TaskState>([...ROWS.map(({ state }) => state), "saved"]);
    expect([...states].sort()).toEqual(Object.keys(STATES).sort());
  });
});
