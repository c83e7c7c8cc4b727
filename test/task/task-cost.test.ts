import { describe, expect, it } from "vitest";
import type { Line } from "../../src/task/line.ts";
import {
  getCharged,
  isInHistory,
  isResumable,
  isUnknown,
  mayBeCharged,
  OPEN_STATES,
  openState,
  openTaskState,
  STATES,
  spentCredits,
  type TaskState,
  totalUsage,
  unsentCredits,
} from "../../src/task/task.ts";
import { INTENT, LINES, recordOf } from "../support/records.ts";

const { waiting, started, not_sent, refused, unknown, dismissed, accepted, completed, failed, saved } = LINES;
const made: Line = { ...completed, urls: [] };
const unusable: Line = { ...unknown, unusable: true };
const freeFailed: Line = { ...failed, charged: "no" };

/** A line about one of several requests. */
const of = (request: number, line: Line) => ({ ...line, request }) as Line;
const second = (line: Line) => ({ ...line, attempt: "2.1" }) as Line;

describe("whether a task of the service may have cost something", () => {
  it.each<[Line[], boolean]>([
    [[started], true],
    [[started, unknown], true],
    [[started, unknown, dismissed], true],
    [[started, accepted], true],
    [[started, accepted, failed], true],
    [[started, accepted, freeFailed], false],
    [[started, accepted, completed, saved], true],
    [[started, refused], false],
    // It is submitted by nobody else than the process that waits out a 429.
    [[started, waiting], false],
    [[not_sent], false],
  ])("after %j is %s", (lines, isCharged) => {
    expect(mayBeCharged(recordOf(lines))).toBe(isCharged);
  });
});

describe("what a task has cost", () => {
  it.each<[string, Line[], "yes" | "no" | "unknown"]>([
    ["waits for its turn", [], "no"],
    ["is in flight", [started], "unknown"],
    ["waits again after it never left", [started, waiting], "no"],
    ["was never sent", [not_sent], "no"],
    ["was refused", [started, refused], "no"],
    ["has lost its reply", [started, unknown], "unknown"],
    ["has lost its first reply, and was refused then", [started, unknown, second(refused)], "unknown"],
    ["was dismissed", [started, unknown, dismissed], "unknown"],
    ["is made", [started, made], "yes"],
    ["is made and no image", [started, made, unusable], "unknown"],
    ["is saved", [started, made, saved], "yes"],
    ["was accepted", [started, accepted], "yes"],
    ["failed", [started, accepted, failed], "unknown"],
    ["failed at no charge", [started, accepted, freeFailed], "no"],
    ["failed at no charge after a loss", [started, unknown, second(freeFailed)], "unknown"],
    ["failed at no charge after a failure", [started, failed, second(freeFailed)], "unknown"],
    ["failed after a failure at no charge", [started, freeFailed, second(failed)], "unknown"],
    ["failed at no charge after a 429", [started, waiting, second(freeFailed)], "no"],
    ["failed at no charge after what is no image", [started, made, unusable, second(freeFailed)], "unknown"],
  ])("at a paid provider, if it %s", (_what, lines, charged) => {
    expect(getCharged(recordOf(lines, {}))).toBe(charged);
    expect(getCharged(recordOf(lines, { isPaid: false }))).toBe("no");
  });

  it.each<[string, Line[], "yes" | "no" | "unknown", number, number]>([
    ["of which none is sent", [], "no", 6, 6],
    ["of which one is made, and two wait", [of(0, started), of(0, made)], "yes", 6, 4],
    ["of which one was refused, and two are made", [of(0, refused), of(1, made), of(2, made)], "yes", 4, 0],
    [
      "of which one is lost, and two refused",
      [of(0, unknown), of(1, refused), of(2, refused)],
      "unknown",
      2,
      0,
    ],
    ["of which all were refused", [of(0, refused), of(1, refused), of(2, refused)], "no", 6, 0],
  ])("of three requests at 2 credits each, %s", (_what, lines, charged, credits, unsent) => {
    const task = recordOf(lines, { requests: 3 }, { ...INTENT, credits: 6 });
    expect([getCharged(task), spentCredits(task), unsentCredits(task)]).toEqual([charged, credits, unsent]);
  });

  it("is no sum without a price", () => {
    const task = recordOf([started, made], { requests: 2 }, { ...INTENT, credits: null });
    expect([spentCredits(task), unsentCredits(task)]).toEqual([null, null]);
    const ended = recordOf([started, made], {}, { ...INTENT, credits: null });
    expect(unsentCredits(ended)).toBe(0);
  });

  it("may still be something if a paid one waits, and never if it is free", () => {
    expect([{}, { isPaid: false }].map((work) => mayBeCharged(recordOf([], work)))).toEqual([true, false]);
  });
});

describe("usage", () => {
  it("is added up over a task's requests; what is no number is the first's", () => {
    const usage = (count: number, cost?: object): Line => ({
      ...made,
      usage: { total_tokens: count, ...cost },
    });
    const lines = [
      of(0, usage(2)),
      of(1, usage(3, { detail: { a: 1 }, unit: "x" })),
      of(2, usage(4, { detail: { a: 2 } })),
    ];
    expect(totalUsage(recordOf([...lines, saved], { requests: 3 }))).toEqual({
      total_tokens: 9,
      detail: { a: 3 },
      unit: "x",
    });
    expect(totalUsage(recordOf([made], {}))).toBeNull();
  });
});

describe("a task is the user's to decide on", () => {
  it.each<[boolean, Line[]]>([
    [false, [started]],
    [true, [started, unknown]],
    [false, [started, unknown, accepted]],
    [false, [started, made]],
    [false, [started, refused]],
    [false, [started, unknown, dismissed]],
  ])("%s after %j", (expected, lines) => {
    expect(isUnknown(recordOf(lines))).toBe(expected);
    expect(isUnknown(recordOf(lines, {}))).toBe(expected);
  });

  it("if one of its images is lost, while others are made", () => {
    const lines = [of(0, made), of(1, unknown)];
    const two = (...more: Line[]) => recordOf([...lines, ...more], { requests: 2 });
    expect([isUnknown(two()), openTaskState(two())]).toEqual([true, "made"]);
    expect(isUnknown(two(dismissed))).toBe(false);
    expect([two(dismissed).state, getCharged(two(dismissed))]).toEqual(["completed", "yes"]);
  });
});

describe("the word for a task", () => {
  it.each<[string | null, TaskState]>([
    ["running", "started"],
    ["accepted", "accepted"],
    ["waiting", "waiting"],
    ["made", "completed"],
    ["unknown", "unknown"],
    [null, "dismissed"],
    [null, "failed"],
    [null, "refused"],
    [null, "not_sent"],
    [null, "saved"],
  ])("is %s if it is %s", (word, state) => {
    expect(openState(state)).toBe(word);
    expect(isResumable(state)).toBe(word !== null && word !== "unknown");
    expect(STATES[state].isOpen).toBe(word !== null);
    if (word !== null) expect(OPEN_STATES).toContain(word);
  });
});

it("the history has what was asked for and neither refused nor left unsent", () => {
  const has = (...lines: Line[]) => isInHistory(recordOf(lines, { isPaid: false }));
  expect([has(), has(started), has(started, made, saved)]).toEqual([true, true, true]);
  expect([has(not_sent), has(started, refused)]).toEqual([false, false]);
  expect([isInHistory(recordOf([started])), isInHistory(recordOf([started, waiting]))]).toEqual([
    true,
    false,
  ]);
});
