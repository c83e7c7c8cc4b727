import { describe, expect, it } from "vitest";
import type { ErrorType } from "../../src/lib/error-types.ts";
import { getTaskEnd } from "../../src/serve/end.ts";
import { failedTaskError } from "../../src/serve/openai/openai-error.ts";
import type { Line } from "../../src/task/line.ts";
import { CANCELLED, STATES, type TaskState } from "../../src/task/task.ts";
import { LINES, recordOf } from "../support/records.ts";

const { started, waiting, not_sent, refused, unknown, dismissed, accepted, gone, completed, failed } = LINES;

const refusal = (error: Partial<Line<"refused">["error"]>): Line => ({
  ...refused,
  error: { ...refused.error, type: "generation_failed", key: null, message: "No.", ...error },
});

/** A status of null: it has not ended, or has images. */
type End = { status: number | null; code?: string; says?: RegExp };
/** The obstacle is the type of the error that kept its rest from being sent. */
type Facts = { requests?: number; isFree?: boolean; obstacle?: ErrorType };
type Row = [state: TaskState, what: string, lines: readonly Line[], end: End, facts?: Facts];

const OPEN = { status: null };
const UNKNOWN = { status: 422, code: "outcome_unknown" };
const FAILED = { status: 422, code: "generation_failed" };
const WRONG = { status: 422, code: "invalid_request" };
const MODERATED = { status: 400, code: "moderation_blocked" };
const POLICY = { status: 400, code: "content_policy_violation" };
const GONE = { ...UNKNOWN, says: /^The provider no longer has the job: HTTP 404\./ };
const FREE = { isFree: true };

const REST = { ...not_sent, request: 1 };
const LOST_BEFORE = [started, unknown, not_sent] as const;
const several = (obstacle: ErrorType): Facts => ({ requests: 2, obstacle });

const ROWS: readonly Row[] = [
  ["waiting", "in the queue", [], OPEN],
  ["waiting", "refused for now", [started, waiting], OPEN],
  ["started", "in flight", [started], OPEN],
  ["accepted", "running", [started, accepted], OPEN],
  ["accepted", "no longer known", [started, accepted, gone], GONE],
  ["accepted", "no longer known to a free one", [started, accepted, gone], { ...GONE, ...FAILED }, FREE],
  [
    "accepted",
    "no longer known, its rest not sent",
    [started, accepted, gone, REST],
    GONE,
    several("network"),
  ],
  ["accepted", "no longer known, another one in the queue", [started, accepted, gone], OPEN, { requests: 2 }],
  ["completed", "to be saved", [started, completed], OPEN],
  ["completed", "with images that are no longer there", [started, completed, gone], GONE],
  ["completed", "with images that a free generator lost", [started, completed, gone], FAILED, FREE],
  ["unknown", "lost", [started, unknown], { ...UNKNOWN, says: /^Silence\./ }],
  ["unknown", "lost, its rest not sent", [started, unknown, REST], UNKNOWN, several("insufficient_credits")],
  ["dismissed", "given up by the user", [started, unknown, dismissed], UNKNOWN],
  ["failed", "failed", [started, accepted, failed], FAILED],
  ["failed", "failed, its rest not sent", [started, failed, REST], FAILED, several("network")],
  ["failed", "moderated", [started, accepted, { ...failed, why: "content moderation" }], MODERATED],
  ["cancelled", "cancelled by the user", [started, accepted, { ...failed, why: `${CANCELLED}.` }], FAILED],
  ["cancelled", "cancelled in the queue", [{ ...not_sent, why: CANCELLED }], FAILED],
  ["refused", "refused", [started, refusal({})], FAILED],
  ["refused", "refused as wrong", [started, refusal({ type: "invalid_request" })], WRONG],
  ["refused", "refused by moderation", [started, refusal({ code: POLICY.code })], POLICY],
  ...(["auth_required", "insufficient_credits", "subscription_required"] as const).map((type): Row => {
    const lines = [started, refusal({ type, message: "A safety limit." }), REST];
    return ["refused", `one of several refused (${type})`, lines, FAILED, several(type)];
  }),
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
    ["not_sent", `not sent (${obstacle})`, [not_sent], { status, code }, { obstacle }],
    [
      "not_sent",
      `not taken, then not sent (${obstacle})`,
      [started, waiting, not_sent],
      { status, code },
      { obstacle },
    ],
    ["not_sent", `lost for free, then not sent (${obstacle})`, LOST_BEFORE, FAILED, { ...FREE, obstacle }],
  ]),
  ["not_sent", "dropped", [not_sent], { status: 503, code: "not_sent" }],
  [
    "not_sent",
    "lost for free, the first of several",
    [...LOST_BEFORE, REST],
    FAILED,
    { ...FREE, requests: 2 },
  ],
];

describe("the status of a task", () => {
  it.each(ROWS)("that is %s (%s)", (state, _what, lines, { status, code, says = /./ }, facts = {}) => {
    const { requests = 1, isFree, obstacle = null } = facts;
    const task = recordOf(lines, { requests, isPaid: isFree !== true });
    expect(task.state).toBe(state);
    const end = getTaskEnd(task);
    if (status === null || end === null) return void expect([end, status]).toEqual([null, null]);
    if (end.name === "completed") throw new Error("it has images");
    const said = failedTaskError(task, end, obstacle);
    expect({ status: said.status, code: said.error.code }).toEqual({ status, code });
    expect(said.error.message).toMatch(says);
    if (status !== 429 && status !== 503)
      expect(said.error.message).toMatch(/\. To check the task: imggen status task_of_ours$/);
  });

  it("has a row for each state but that of images on the disk", () => {
    const states = new Set<TaskState>([...ROWS.map(([state]) => state), "saved"]);
    expect([...states].sort()).toEqual(Object.keys(STATES).sort());
  });
});
