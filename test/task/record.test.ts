import { describe, expect, it } from "vitest";
import type { TaskEvent, TaskState } from "../../src/task/task.ts";
import {
  chargedOf,
  isInHistory,
  isUnknown,
  mayBeCharged,
  spentCredits,
  taskIdOf,
} from "../../src/task/task.ts";
import { EVENTS, recordOf } from "../support/records.ts";

const { waiting, started, rate_limited, not_sent, refused, unknown } = EVENTS;
const { dismissed, accepted, completed, failed, saved } = EVENTS;
const made: TaskEvent = { ...completed, urls: [] };
const freeFailed: TaskEvent = { ...failed, charged: "no" };

/** A line about one of several requests. */
const of = (request: number, event: TaskEvent) => ({ ...event, request }) as TaskEvent;

describe("whether a task of the service may have cost something", () => {
  it.each([
    [[], true],
    [[unknown], true],
    [[unknown, dismissed], true],
    [[accepted], true],
    [[accepted, failed], true],
    [[accepted, freeFailed], false],
    [[accepted, completed, saved], true],
    [[rate_limited], true],
    [[refused], false],
    [[not_sent], false],
  ])("after %j is %s", (events, paid) => {
    expect(mayBeCharged(recordOf(events))).toBe(paid);
  });

  it("is no where its process was killed while it waited out a 429", () => {
    const record = recordOf([rate_limited]);
    const state = { ...record.state, isOwnerGone: true } as TaskState;
    expect(mayBeCharged({ ...record, state })).toBe(false);
    expect(chargedOf({ ...record, state })).toBe("no");
  });
});

describe("what a task has cost", () => {
  it.each<[string, TaskEvent[], "yes" | "no" | "unknown"]>([
    ["waits for its turn", [], "no"],
    ["is under way", [started], "unknown"],
    ["waits again after it never left", [started, waiting], "no"],
    ["waits again after its reply was lost", [started, { ...waiting, sent: true }], "unknown"],
    ["was never sent", [not_sent], "no"],
    ["was refused", [started, refused], "no"],
    ["has lost its reply", [started, unknown], "unknown"],
    ["was dismissed", [started, unknown, dismissed], "unknown"],
    ["is made", [started, made], "yes"],
    ["is made and no image", [started, made, unknown], "unknown"],
    ["is saved", [started, made, saved], "yes"],
    ["was accepted", [started, accepted], "yes"],
    ["failed", [started, accepted, failed], "unknown"],
    ["failed at no charge", [started, accepted, freeFailed], "no"],
  ])("at a paid provider, where it %s", (_what, events, charged) => {
    expect(chargedOf(recordOf(events, {}))).toBe(charged);
    expect(chargedOf(recordOf(events, { isPaid: false }))).toBe("no");
  });

  it.each<[string, TaskEvent[], "yes" | "no" | "unknown", number]>([
    ["of which none is sent", [], "no", 6],
    ["of which one is made, and two wait", [of(0, started), of(0, made)], "yes", 6],
    ["of which one was refused, and two are made", [of(0, refused), of(1, made), of(2, made)], "yes", 4],
    ["of which one is lost, and two refused", [of(0, unknown), of(1, refused), of(2, refused)], "unknown", 2],
    ["of which all were refused", [of(0, refused), of(1, refused), of(2, refused)], "no", 6],
  ])("of three requests at 2 credits each, %s", (_what, events, charged, credits) => {
    const record = recordOf(events, { requests: 3 }, { ...recordOf([]).intent, credits: 6 });
    expect(chargedOf(record)).toBe(charged);
    expect(spentCredits(record)).toBe(credits);
  });

  it("is no sum where there is no price", () => {
    expect(spentCredits(recordOf([started, made], {}, { ...recordOf([]).intent, credits: null }))).toBeNull();
  });

  it("may still be something where a paid one waits, and never where it is free", () => {
    expect([{}, { isPaid: false }].map((work) => mayBeCharged(recordOf([], work)))).toEqual([true, false]);
  });
});

describe("a task of several requests", () => {
  const three = (...events: TaskEvent[]) => recordOf(events, { requests: 3 });

  it.each<[string, TaskEvent[]]>([
    ["waiting", []],
    ["started", [of(0, made), of(1, started)]],
    ["waiting", [of(0, made), of(1, made)]],
    ["completed", [of(0, made), of(1, refused), of(2, unknown)]],
    ["unknown", [of(0, refused), of(1, unknown), of(2, freeFailed)]],
    ["failed", [of(0, refused), of(1, freeFailed), of(2, refused)]],
    ["refused", [of(0, refused), of(1, refused), of(2, refused)]],
    ["saved", [of(0, made), of(1, made), of(2, made), saved]],
  ])("is %s after %j", (name, events) => {
    expect(three(...events).state.name).toBe(name);
  });

  it("is in the hands of the process that took it last, whoever released it before", () => {
    const record = three(of(0, started), EVENTS.released, of(0, EVENTS.taken_over));
    expect(record.state).toMatchObject({ name: "started", by: { pid: 2 } });
  });

  it("adds up what its requests took", () => {
    const usage = (count: number): TaskEvent => ({ ...made, usage: { total_tokens: count } });
    const record = three(of(0, usage(2)), of(1, usage(3)), of(2, usage(4)), saved);
    expect(record.state).toMatchObject({ name: "saved", usage: { total_tokens: 9 } });
  });

  it("takes a line without a number for one about the first", () => {
    expect(three(started).requests.map(({ name }) => name)).toEqual(["started", "waiting", "waiting"]);
  });

  it("passes a line about a request over that it does not have", () => {
    expect(three(of(7, unknown), of(-1, unknown)).requests).toEqual(three().requests);
  });
});

describe("a task is the user's to decide on", () => {
  it.each<[boolean, TaskEvent[]]>([
    [true, []],
    [true, [unknown]],
    [false, [accepted]],
    [false, [refused]],
    [false, [unknown, dismissed]],
  ])("%s at the service after %j", (expected, events) => {
    expect(isUnknown(recordOf(events))).toBe(expected);
  });

  it.each<[boolean, TaskEvent[]]>([
    [false, []],
    [false, [started]],
    [true, [started, unknown]],
    [false, [started, made]],
  ])("%s at another provider after %j", (expected, events) => {
    expect(isUnknown(recordOf(events, {}))).toBe(expected);
  });

  it("where one of its images is lost, while others are made", () => {
    const events = [of(0, made), of(1, unknown)];
    expect(isUnknown(recordOf(events, { requests: 2 }))).toBe(true);
    expect(isUnknown(recordOf([...events, dismissed], { requests: 2 }))).toBe(false);
  });

  it("and once they have, keeps what the others have made", () => {
    const record = recordOf([of(0, made), of(1, unknown), dismissed], { requests: 2 });
    expect(record.requests.map(({ name }) => name)).toEqual(["completed", "dismissed"]);
    expect([record.state.name, chargedOf(record)]).toEqual(["completed", "yes"]);
    expect(recordOf([of(0, refused), of(1, unknown), dismissed], { requests: 2 }).state.name).toBe(
      "dismissed",
    );
  });
});

it("the history has what was asked for and neither refused nor left unsent", () => {
  const has = (...events: TaskEvent[]) => isInHistory(recordOf(events, { isPaid: false }));
  expect([has(), has(started), has(started, made, saved)]).toEqual([true, true, true]);
  expect([has(not_sent), has(started, refused)]).toEqual([false, false]);
});

it("a task's id is ours where its provider has another one for its request", () => {
  expect(taskIdOf(recordOf([accepted]))).toBe("task-1");
  expect(taskIdOf(recordOf([]))).toBeNull();
  expect(taskIdOf(recordOf([accepted], {}))).toBe("task_of_ours");
});
