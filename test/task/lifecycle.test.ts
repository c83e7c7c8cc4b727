import { describe, expect, it } from "vitest";
import { advance } from "../../src/task/advance.ts";
import {
  type EventType,
  STATES,
  type StateName,
  type TaskEvent,
  type TaskState,
} from "../../src/task/task.ts";
import { AT, EVENTS, recordOf } from "../support/records.ts";
import { identity } from "../support/some-processes.ts";

const { rate_limited, not_sent, refused } = EVENTS;
const { waiting, started, taken_over, unknown, dismissed, accepted, completed, failed, saved } = EVENTS;

function sumOf(...events: TaskEvent[]): TaskState {
  return events.reduce(advance, { name: "intent", until: null } as TaskState);
}

const fileOf = (name: string) => ({
  path: `/tmp/${name}.png`,
  url: `https://cdn.example/${name}.png`,
  mediaType: "image/png",
  bytes: 1,
  sha256: name.repeat(64),
  width: 8,
  height: 6,
});
const [ONE, TWO] = [fileOf("1"), fileOf("2")];

describe("a task's state", () => {
  it("keeps the files that were saved before the service called the task failed", () => {
    const part: TaskEvent = { type: "partly_saved", at: AT, files: [ONE, null] };
    const partlySaved = [ONE, null];
    expect(sumOf(accepted, completed, part, failed)).toMatchObject({ name: "failed", partlySaved });
  });

  it("knows which images are saved while others are not, however often the task completes", () => {
    const events: TaskEvent[] = [
      { type: "partly_saved", at: AT, files: [null, TWO] },
      completed,
      { type: "partly_saved", at: AT, files: [ONE, null, null] },
    ];
    expect(sumOf(accepted, completed, ...events)).toMatchObject({ partlySaved: [ONE, TWO, null] });
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

/** A task whose provider has sent its image: it is on this disk. */
const here: TaskEvent = { ...completed, urls: [] };

describe("what each line makes of each state", () => {
  type Changes = Partial<Record<EventType, StateName>>;
  const ends = {
    not_sent: "not_sent",
    refused: "refused",
    unknown: "unknown",
    dismissed: "dismissed",
  } as const;
  const submits = { ...ends, rate_limited: "rate_limited", accepted: "accepted" } as const;
  const attempts = { ...ends, accepted: "accepted", completed: "completed", failed: "failed" } as const;
  const at = (...events: TaskEvent[]) => recordOf(events).state;
  const own = (...events: TaskEvent[]) => recordOf(events, {}).state;

  it.each<[string, TaskState, Changes]>([
    ["intent", at(), submits],
    ["rate_limited", at(rate_limited), { ...submits, submitting: "intent" }],
    ["waiting", own(), { ...attempts, started: "started" }],
    ["waiting again", own(started, { ...waiting, sent: true }), { ...attempts, started: "started" }],
    ["started", own(started), { ...attempts, waiting: "waiting" }],
    ["not_sent", at(not_sent), { ...ends, accepted: "accepted" }],
    ["refused", at(refused), { ...ends, accepted: "accepted" }],
    ["unknown", at(unknown), { ...ends, accepted: "accepted" }],
    ["unknown at another provider", own(started, unknown), attempts],
    ["dismissed", at(unknown, dismissed), { accepted: "accepted" }],
    ["accepted", at(accepted), { completed: "completed", failed: "failed", saved: "saved" }],
    ["completed at URLs", at(accepted, completed), { failed: "failed", saved: "saved" }],
    ["completed on this disk", own(started, here), { failed: "failed", saved: "saved", unknown: "unknown" }],
    ["failed", at(accepted, failed), { completed: "completed", saved: "saved" }],
    ["saved", at(accepted, completed, saved), {}],
  ])("%s", (_what, state, changes) => {
    const after = Object.values(EVENTS).map((event: TaskEvent) => [event.type, advance(state, event).name]);
    const expected = Object.keys(EVENTS).map((type) => [type, changes[type as EventType] ?? state.name]);
    expect(after).toEqual(expected);
  });
});

describe("a request to a provider that answers with its image", () => {
  const own = (...events: TaskEvent[]) => recordOf(events, {}).state;

  it("has our own id from its intent to its files", () => {
    const states = [own(), own(started), own(started, here), own(started, here, saved)];
    for (const state of states) expect(state).toMatchObject({ taskId: "task_of_ours" });
  });

  it.each([
    ["none", [], 0],
    ["one that is under way", [started], 1],
    ["one whose reply was lost, before the next", [started, { ...waiting, sent: true }], 1],
    ["one that never left", [started, waiting], 0],
    ["two", [started, { ...waiting, sent: true }, started], 2],
    ["one, however long it waits for its turn after it", [started, { ...waiting, sent: true }, waiting], 1],
  ] as const)("counts what may have reached the other side: %s", (_what, events, tries) => {
    expect(own(...events)).toMatchObject({ tries });
  });

  it("is in the hands of the process that its last line names, until it is released", () => {
    const by = (state: TaskState) => ("tries" in state ? state.by?.pid : undefined);
    expect(by(own(started))).toBe(identity(1).pid);
    expect(by(own(started, taken_over))).toBe(identity(2).pid);
    expect(by(own(started, taken_over, { ...EVENTS.released }))).toBeUndefined();
    expect(by(own(waiting))).toBeUndefined();
  });

  it("keeps where what arrived is kept, once it is of unknown outcome", () => {
    expect(own(started, { ...unknown, kept: "/state/reply" })).toMatchObject({ kept: "/state/reply" });
  });

  it("may turn out to have been made, under the same id, by a process that was taken for dead", () => {
    expect(own(started, unknown, here)).toMatchObject({ name: "completed", taskId: "task_of_ours" });
    expect(own(started, here, unknown, here)).toMatchObject({ name: "completed", taskId: "task_of_ours" });
  });

  it("that was made may have been charged, whatever comes later", () => {
    const bad: TaskEvent[] = [started, here, unknown];
    for (const late of [not_sent, refused]) expect(own(...bad, late).name).toBe("unknown");
    const free: TaskEvent = { ...failed, charged: "no" };
    expect(own(started, free)).toMatchObject({ charged: "no" });
    for (const before of [bad, [started, here]]) expect(own(...before, free)).not.toHaveProperty("charged");
  });

  it("may turn out to have made no image after all", () => {
    const why = "it is a page";
    expect(own(started, here, { ...unknown, why })).toMatchObject({ name: "unknown", why });
  });
});

it("a task is open exactly where something is left to do", () => {
  const open = Object.entries(STATES).flatMap(([name, { isOpen }]) => (isOpen ? [name] : []));
  expect(open).toEqual(["intent", "waiting", "started", "rate_limited", "unknown", "accepted", "completed"]);
});
