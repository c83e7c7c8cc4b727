import { describe, expect, it } from "vitest";
import { advance, type TaskEvent, type TaskState } from "../../src/task/lifecycle.ts";
import { isUnknown, mayBeCharged } from "../../src/task/record.ts";
import { AT, EVENTS, INTENT } from "../support/records.ts";
import { identity } from "../support/some-processes.ts";

const { intent, rate_limited, submitting, not_sent, refused } = EVENTS;
const { unknown, dismissed, accepted, completed, lost, failed, saved } = EVENTS;

function sumOf(...events: TaskEvent[]): TaskState {
  return events.reduce(advance, { name: "intent", until: null } as TaskState);
}

function recordOf(...events: TaskEvent[]) {
  return { id: "x", intent: INTENT, owner: identity(1), submittedAt: AT, state: sumOf(...events) };
}

describe("a task's state", () => {
  it("keeps the files that were saved before the service called the task failed", () => {
    const file = {
      path: "/tmp/1.png",
      url: "",
      mediaType: "image/png",
      bytes: 1,
      sha256: "",
      width: 1,
      height: 1,
    };
    const part: TaskEvent = { type: "partly_saved", at: AT, files: [file, null] };
    expect(sumOf(accepted, completed, part, failed)).toMatchObject({
      name: "failed",
      partlySaved: [file, null],
    });
  });

  it.each([
    [[], "intent"],
    [[intent], "intent"],
    [[rate_limited], "rate_limited"],
    [[rate_limited, submitting], "intent"],
    [[rate_limited, submitting, rate_limited], "rate_limited"],
    [[rate_limited, submitting, accepted], "accepted"],
    [[rate_limited, not_sent], "not_sent"],
    [[not_sent], "not_sent"],
    [[refused], "refused"],
    [[unknown], "unknown"],
    [[accepted], "accepted"],
    [[accepted, completed], "completed"],
    [[accepted, lost], "lost"],
    [[accepted, lost, dismissed], "dismissed"],
    [[accepted, dismissed], "accepted"],
    [[accepted, failed], "failed"],
    [[accepted, completed, saved], "saved"],
    [[accepted, completed, completed], "completed"],
    [[accepted, saved], "saved"],
  ])("after %j is %s", (events, status) => {
    expect(sumOf(...events).name).toBe(status);
  });

  it.each([
    [[completed], "intent"],
    [[failed], "intent"],
    [[saved], "intent"],
    [[unknown, completed], "unknown"],
    [[not_sent, saved], "not_sent"],
    [[accepted, completed, saved, completed], "saved"],
    [[accepted, completed, saved, failed], "saved"],
    [[accepted, completed, saved, accepted], "saved"],
    [[accepted, unknown], "accepted"],
    [[accepted, not_sent], "accepted"],
    [[accepted, rate_limited], "accepted"],
    [[accepted, submitting], "accepted"],
    [[unknown, rate_limited], "unknown"],
    [[not_sent, submitting], "not_sent"],
    [[dismissed, submitting], "dismissed"],
    [[dismissed, rate_limited], "dismissed"],
    [[dismissed, not_sent], "dismissed"],
  ])(
    "after %j stays %s: what comes without its beginning, or too late, changes nothing",
    (events, status) => {
      expect(sumOf(...events).name).toBe(status);
    },
  );

  it("knows which images are saved while others are not, however often the task completes", () => {
    const [one, two] = ["1", "2"].map((name) => ({
      path: `/tmp/${name}.png`,
      url: `https://cdn.example/${name}.png`,
      mediaType: "image/png",
      bytes: 1,
      sha256: name.repeat(64),
      width: 8,
      height: 6,
    }));
    const events: TaskEvent[] = [
      { type: "partly_saved", at: AT, files: [null, two ?? null] },
      completed,
      { type: "partly_saved", at: AT, files: [one ?? null, null, null] },
    ];
    expect(sumOf(accepted, completed, ...events)).toMatchObject({ partlySaved: [one, two, null] });
    expect(sumOf(accepted, ...events.slice(0, 1)).name).toBe("accepted");
  });

  it("keeps the task's id and times through all that follows", () => {
    const later = { ...completed, at: "2026-01-31T12:00:08.000Z" };
    expect(sumOf(accepted, later, saved)).toEqual({
      name: "saved",
      taskId: "task-1",
      acceptedAt: AT,
      completedAt: later.at,
      files: [],
      observed: { seenMs: later.seenMs, pendingMs: later.pendingMs },
    });
  });

  it("holds the URLs that were seen last", () => {
    const fresh = { ...completed, urls: ["https://cdn.example/2.png"] };
    expect(sumOf(accepted, completed, fresh)).toMatchObject({ urls: fresh.urls });
  });
});

describe("whether a task may have cost something", () => {
  it.each([
    [[], true],
    [[unknown], true],
    [[accepted], true],
    [[accepted, failed], true],
    [[accepted, completed, saved], true],
    [[rate_limited], true],
    [[refused], false],
    [[not_sent], false],
  ])("after %j is %s", (events, paid) => {
    expect(mayBeCharged(recordOf(...events))).toBe(paid);
  });
});

it("a task whose process was killed while it waited out a 429 cost nothing", () => {
  const record = recordOf(rate_limited);
  const state = { ...record.state, isOwnerGone: true } as TaskState;
  expect(mayBeCharged({ ...record, state })).toBe(false);
});

it("a task is of unknown outcome while nothing but its intent, or a lost answer, is known", () => {
  expect([[], [unknown], [accepted], [refused]].map((events) => isUnknown(recordOf(...events)))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe("a task of the user's own generator", () => {
  it("that was refused has cost nothing", () => {
    expect(mayBeCharged(recordOf(accepted, { ...failed, why: "no cats", charged: "no" }))).toBe(false);
    expect(mayBeCharged(recordOf(accepted, failed))).toBe(true);
  });

  it("whose reply was lost may have been charged, and is the user's to decide on", () => {
    const record = recordOf(accepted, lost);
    expect([isUnknown(record), mayBeCharged(record)]).toEqual([true, true]);
  });

  it("keeps what the generator said of its cost once it is saved", () => {
    const usage = { total_tokens: 12 };
    expect(sumOf(accepted, { ...completed, usage }, saved)).toMatchObject({ name: "saved", usage });
  });
});
