import { describe, expect, it } from "vitest";
import { classify, type IdenticalTask } from "../../../src/core/engine/same-request.ts";
import type { Work } from "../../../src/task/intent.ts";
import type { TaskEvent } from "../../../src/task/task.ts";
import { begunTask, withEvent } from "../../../src/task/task.ts";
import { ledgerWorld } from "../../support/ledger-world.ts";
import { AT, EVENTS, UNTIL, WORK } from "../../support/records.ts";
import { identity } from "../../support/some-processes.ts";

const { accepted, completed, failed, not_sent, partly_saved, rate_limited, refused, saved, unknown } = EVENTS;
const LIVING = identity(1);
const GONE = identity(2);
/** Nobody here can ask whether it lives. */
const ELSEWHERE = identity(3, "another");
const WEEK_MS = 7 * 24 * 60 * 60_000;

interface Left {
  by?: typeof LIVING;
  /** Absent: at the hosted service. */
  work?: Partial<Work>;
  isCancelled?: boolean;
  agoMs?: number;
}

/** What a task is to its request whose process has left it at these events. */
async function kindOf(events: readonly TaskEvent[], { by = GONE, work, isCancelled, agoMs = 1000 }: Left) {
  const { as, clock } = await ledgerWorld(4);
  clock.advance(Date.parse(AT) + agoMs - clock.now());
  const ledger = as(4);
  const asked = work && { work: { ...WORK, ...work } };
  const begun = begunTask("x", { ...EVENTS.intent, owner: by, until: UNTIL, ...asked });
  const record = events.reduce(withEvent, begun);
  if (isCancelled) await ledger.markCancelled(record);
  const { record: _record, ...task } = classify(record, ledger);
  return "state" in task ? { kind: task.kind } : task;
}

const started = (by: typeof LIVING): TaskEvent => ({ ...EVENTS.started, by });
const resumable = { kind: "resumable", isOld: false, isPartlyUnknown: false } as const;

describe("a task for a request that is asked for again", () => {
  it.each<[string, TaskEvent[], Left, Partial<IdenticalTask>]>([
    ["is saved where all of its images are files", [accepted, completed, saved], {}, { kind: "saved" }],
    ["is resumable once it is accepted", [accepted], {}, resumable],
    [
      "is resumable in a living process: only its claim says who has it",
      [accepted],
      { by: LIVING },
      resumable,
    ],
    ["is resumable with images still to be saved", [accepted, completed, partly_saved], {}, resumable],
    ["is old after a week", [accepted], { agoMs: WEEK_MS + 1 }, { ...resumable, isOld: true }],
    ["is not old within a week", [accepted], { agoMs: WEEK_MS }, resumable],
    ["is being submitted by a living process", [], { by: LIVING }, { kind: "submitting" }],
    ["is being submitted while that waits out a 429", [rate_limited], { by: LIVING }, { kind: "submitting" }],
    ["may be submitted on another machine", [], { by: ELSEWHERE }, { kind: "out_of_sight" }],
    [
      "may be submitted again on another machine",
      [{ ...rate_limited, until: UNTIL }],
      { by: ELSEWHERE },
      { kind: "out_of_sight" },
    ],
    [
      "is unknown once the time of another machine is over",
      [],
      { by: ELSEWHERE, agoMs: 150_001 },
      { kind: "unknown" },
    ],
    ["is unknown where its process ended during the submit", [], {}, { kind: "unknown" }],
    ["is unknown where its reply was lost", [unknown], { by: LIVING }, { kind: "unknown" }],
    ["has failed", [accepted, failed], {}, { kind: "failed" }],
    ["is none where it was refused", [refused], {}, { kind: "none" }],
    ["is none where it was not sent", [not_sent], {}, { kind: "none" }],
    ["is none where the user has dismissed it", [unknown, EVENTS.dismissed], {}, { kind: "none" }],
  ])("%s", async (_title, events, left, expected) => {
    expect(await kindOf(events, left)).toEqual(expected);
  });

  it.each<[string, TaskEvent[], Left, Partial<IdenticalTask>]>([
    ["is under way while it waits for its turn", [], { by: LIVING }, { kind: "under_way" }],
    ["is under way once it is sent", [started(LIVING)], { by: LIVING }, { kind: "under_way" }],
    ["may be sent from another machine", [started(ELSEWHERE)], {}, { kind: "out_of_sight" }],
    ["is resumable where its process has ended", [started(GONE)], {}, resumable],
    ["is resumable once the time of its process is over", [started(LIVING)], { agoMs: 150_001 }, resumable],
    ["is cancelled while it waits", [], { isCancelled: true }, { kind: "cancelled" }],
    [
      "is cancelled even if a living process has it",
      [],
      { by: LIVING, isCancelled: true },
      { kind: "cancelled" },
    ],
    ["is not cancelled once it is sent", [started(GONE)], { isCancelled: true }, resumable],
    ["is unknown where its reply was lost", [started(GONE), unknown], {}, { kind: "unknown" }],
    [
      "is unknown in part where one of its replies was lost and another is made",
      [
        { ...completed, request: 0 },
        { ...unknown, request: 1 },
      ],
      { work: { requests: 2 } },
      { ...resumable, isPartlyUnknown: true },
    ],
  ])("at a generator %s", async (_title, events, left, expected) => {
    expect(await kindOf(events, { work: {}, ...left })).toEqual(expected);
  });
});

it("a request whose process waits out a 429 is none once that has ended", async () => {
  const { ledger } = await ledgerWorld();
  const record = withEvent(begunTask("x", EVENTS.intent), rate_limited);
  const left = { ...record, state: { ...record.state, isOwnerGone: true } } as typeof record;
  expect(classify(left, ledger).kind).toBe("none");
});
