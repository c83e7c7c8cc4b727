import { describe, expect, it } from "vitest";
import type { Line } from "../../src/task/line.ts";
import {
  decidingRequest,
  filesByIndex,
  getAnswer,
  getCompletion,
  getSavedFiles,
  getTaskId,
  isUnsaved,
  openTaskState,
  STATES,
  summaryLines,
  type TaskState,
  taskFromIntent,
  withLine,
} from "../../src/task/task.ts";
import { AT, INTENT, LINES, recordOf } from "../support/records.ts";

const { waiting, started, not_sent, refused, unknown, dismissed } = LINES;
const { accepted, completed, failed, saved, taken, released } = LINES;

/** An image that the provider has sent: it is on this disk. */
const here: Line = { ...completed, urls: [] };
/** It turned out to be none. */
const unusable: Line = { ...unknown, unusable: true };
const freeFailed: Line = { ...failed, charged: "no" };

/** A line about another attempt, or another request. */
const of = (line: Line, facts: { attempt?: string; request?: number }) => ({ ...line, ...facts }) as Line;
const second = (line: Line) => of(line, { attempt: "2.1" });

/** The state of a paid task of one request after these lines. */
const stateAfter = (...lines: Line[]) => recordOf(lines, {}).state;
const stateAfterFree = (...lines: Line[]) => recordOf(lines, { isPaid: false }).state;

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

describe("one attempt", () => {
  const states = Object.keys(LINES).filter((type) => type !== "intent");

  it.each<[string, Line[], Partial<Record<Line["type"], TaskState>>]>([
    ["none", [], { ...ANSWERED(), started: "started", not_sent: "not_sent" }],
    ["one that is open", [started], { ...ANSWERED(), waiting: "waiting", dismissed: "dismissed" }],
    [
      "one that was not taken",
      [started, waiting],
      { ...ANSWERED(), unknown: "waiting", not_sent: "not_sent" },
    ],
    ["a refused one", [started, refused], { accepted: "accepted", completed: "completed", failed: "failed" }],
    ["a lost one", [started, unknown], { ...ANSWERED(), waiting: "waiting", dismissed: "dismissed" }],
    ["a dismissed one", [started, unknown, dismissed], { accepted: "accepted", completed: "completed" }],
    ["an accepted one", [started, accepted], { completed: "completed", failed: "failed" }],
    ["one completed at URLs", [started, completed], { failed: "failed", saved: "saved" }],
    ["one completed on this disk", [started, here], { failed: "failed", saved: "saved" }],
    ["a failed one", [started, failed], { accepted: "accepted", completed: "completed", saved: "saved" }],
  ])("%s: what each further line makes of it", (_what, lines, changes) => {
    const made = states.map((type) => [type, stateAfter(...lines, LINES[type as Line["type"]])]);
    const before = stateAfter(...lines);
    expect(made).toEqual(states.map((type) => [type, changes[type as Line["type"]] ?? before]));
  });

  function ANSWERED() {
    const answers = ["refused", "unknown", "accepted", "completed", "failed"] as const;
    return Object.fromEntries(answers.map((answer) => [answer, answer]));
  }
});

describe("a request that the user has cancelled", () => {
  it.each<[string, Line[]]>([
    ["before it was sent", [{ ...not_sent, why: "it was cancelled" }]],
    ["after a 429", [started, waiting, { ...not_sent, why: "it was cancelled" }]],
    ["while it ran", [started, { ...failed, why: "it was cancelled." }]],
    ["once its provider had it", [started, accepted, { ...failed, why: "it was cancelled." }]],
  ])("%s is cancelled, as the lines of earlier releases say it too", (_when, lines) => {
    expect(recordOf(lines)).toMatchObject({ state: "cancelled" });
    expect(recordOf([...lines, accepted]).state, "its provider has it after all").toBe("accepted");
  });

  it("is not one that its provider has given up", () => {
    expect(recordOf([started, { ...failed, why: "It was cancelled at the server." }]).state).toBe("failed");
  });
});

describe("several attempts at one request", () => {
  it.each<[TaskState, Line[]]>([
    ["accepted", [started, accepted, second(started)]],
    ["completed", [started, completed, second(started), second(accepted)]],
    ["started", [started, second(started), second(unknown)]],
    ["started", [started, second(started), second(refused)]],
    ["failed", [started, failed, second(started), second(refused)]],
    ["unknown", [started, unknown, second(started), second(refused)]],
    ["unknown", [started, unknown, second(started), second(waiting), not_sent]],
    ["refused", [started, waiting, second(started), second(refused)]],
    ["waiting", [started, waiting, second(started), second(waiting)]],
    ["not_sent", [started, waiting, second(started), second(waiting), not_sent]],
  ])("are %s by the one that weighs most", (state, lines) => {
    expect(stateAfter(...lines)).toBe(state);
    const [first, ...rest] = lines;
    if (first !== undefined && state !== "not_sent") expect(stateAfter(...rest, first)).toBe(state);
  });

  it("are not undone by a late line that one of them was not taken", () => {
    expect(stateAfter(started, second(started), second(accepted), waiting)).toBe("accepted");
    expect(stateAfter(started, second(started), waiting)).toBe("started");
    expect(stateAfter(started, second(started), second(unknown), waiting)).toBe("unknown");
  });

  it("count an answer of the process that has lost the task, whatever was decided meanwhile", () => {
    const lost = [started, { ...taken }, unknown] as const;
    expect(stateAfter(...lost, accepted)).toBe("accepted");
    expect(stateAfter(...lost, dismissed, accepted)).toBe("accepted");
    expect(stateAfter(...lost, dismissed, here)).toBe("completed");
    // Its part is read before that of the process that has taken the task over.
    expect(stateAfter(started, here, { ...taken }, unknown)).toBe("completed");
    expect(stateAfter(...lost, waiting)).toBe("waiting");
    expect(stateAfter(...lost, refused)).toBe("refused");
    expect(stateAfter(...lost, dismissed, refused)).toBe("dismissed");
  });

  it("count an answer without its own line before", () => {
    expect(stateAfter(accepted)).toBe("accepted");
    expect(stateAfter(second(started), accepted)).toBe("accepted");
  });

  it("of a free provider are repeated after a loss", () => {
    expect(stateAfterFree(started, unknown)).toBe("waiting");
    expect(stateAfterFree(started, unknown, second(started))).toBe("started");
    expect(stateAfterFree(started, unknown, second(started), second(refused))).toBe("refused");
    // A job that was accepted, and that its provider no longer has.
    expect(stateAfterFree(started, accepted, unusable)).toBe("waiting");
    expect(stateAfterFree(started, accepted, unusable, accepted)).toBe("accepted");
    expect(stateAfterFree(started, accepted, unknown)).toBe("accepted");
    // What it has made is on this disk, and no image: the user decides.
    expect(stateAfterFree(started, here, unusable)).toBe("unknown");
  });

  it.each<[string, Line[], number]>([
    ["none", [], 0],
    ["one that is in flight", [started], 1],
    ["one whose reply was lost, before the next", [started, unknown], 1],
    ["one that never left", [started, waiting], 0],
    ["two", [started, unknown, second(started)], 2],
    ["one that was accepted, and whose job was lost", [started, accepted, unusable], 1],
    ["one of two", [started, unknown, second(started), second(waiting)], 1],
  ])("may have reached the provider: %s", (_what, lines, possibleSubmits) => {
    expect(recordOf(lines, { isPaid: false }).requests).toMatchObject([{ possibleSubmits }]);
  });

  it("are decided by the last one with the answer that counts", () => {
    const [request] = recordOf([started, unknown, second(started), second(unknown)], {}).requests;
    expect(request?.attempt?.name).toBe("2.1");
    expect(request && getAnswer(request, "unknown")).toMatchObject({ attempt: "2.1" });
    expect(request && getAnswer(request, "accepted")).toBeNull();
  });
});

describe("an answer", () => {
  it("keeps where what arrived is kept, once the outcome is unknown", () => {
    const { requests } = recordOf([started, here, { ...unusable, kept: "/state/reply" }], {});
    expect(requests[0] && getAnswer(requests[0], "unknown")).toMatchObject({ kept: "/state/reply" });
  });

  it("holds the URLs that were seen last", () => {
    const fresh = { ...completed, urls: ["https://cdn.example/2.png"] };
    const { requests } = recordOf([accepted, completed, fresh]);
    expect(requests[0] && getAnswer(requests[0], "completed")).toMatchObject({ urls: fresh.urls });
  });

  it("leaves the id and the time at which the task was accepted", () => {
    const later = { ...completed, at: "2026-01-31T12:00:08.000Z" };
    const task = recordOf([accepted, { ...accepted, at: later.at, taskId: "task-2" }, later, saved]);
    expect(task.requests[0]?.attempt?.accepted).toEqual({ id: "task-1", at: AT });
    expect(getTaskId(task)).toBe("task-1");
    expect(getCompletion(task)).toEqual({ at: later.at, seenMs: 8000, pendingMs: null });
    expect(getCompletion(recordOf([accepted]))).toBeNull();
  });

  it("never makes free again what was made", () => {
    const answer = (...lines: Line[]) => {
      const [request] = recordOf(lines, {}).requests;
      return request && getAnswer(request, "failed");
    };
    expect(answer(started, freeFailed)).toMatchObject({ charged: "no" });
    for (const before of [[here], [here, unusable], [failed]])
      expect(answer(started, ...before, freeFailed)).not.toHaveProperty("charged");
  });
});

describe("a task of several requests", () => {
  const three = (...lines: Line[]) => recordOf(lines, { requests: 3 });
  const at = (request: number, line: Line) => of(line, { request });

  it.each<[TaskState, Line[]]>([
    ["waiting", []],
    ["started", [at(0, here), at(1, started)]],
    ["accepted", [at(0, accepted)]],
    ["waiting", [at(0, here), at(1, here)]],
    ["completed", [at(0, here), at(1, refused), at(2, unknown)]],
    ["unknown", [at(0, refused), at(1, unknown), at(2, freeFailed)]],
    ["dismissed", [at(0, refused), at(1, unknown), at(2, refused), dismissed]],
    ["failed", [at(0, refused), at(1, freeFailed), at(2, refused)]],
    ["refused", [at(0, refused), at(1, refused), at(2, not_sent)]],
    ["saved", [at(0, here), at(1, here), at(2, here), saved]],
    ["unknown", [at(0, refused), at(1, unknown), at(2, refused), saved]],
    ["waiting", [at(0, here), at(1, here), saved]],
    ["refused", [at(0, refused), at(1, refused), at(2, refused), saved]],
  ])("is %s after %j", (state, lines) => {
    expect(three(...lines).state).toBe(state);
    const deciding = decidingRequest(three(...lines)).state;
    expect(deciding).toBe(state === "saved" ? "completed" : state);
  });

  it("keeps what some have made when the others are dismissed, and what was not sent", () => {
    const states = (...lines: Line[]) => three(...lines).requests.map(({ state }) => state);
    expect(states(at(0, here), at(1, unknown), dismissed)).toEqual(["completed", "dismissed", "waiting"]);
    expect(states(at(0, started), at(1, refused), dismissed)).toEqual(["dismissed", "refused", "waiting"]);
  });

  it("passes over a line about a request that it does not have", () => {
    expect(three(at(7, unknown), at(-1, unknown)).requests).toEqual(three().requests);
  });
});

describe("the images of a task", () => {
  const part = (...files: (typeof ONE | null)[]): Line => ({ type: "partly_saved", at: AT, files });

  const counted = (imageCounts: number[], ...files: (typeof ONE | null)[]): Line => ({
    ...{ type: "partly_saved", at: AT, files, imageCounts },
  });

  it("of a reply that an earlier version has saved in part are unsaved until it is opened again", () => {
    expect(isUnsaved(recordOf([accepted, completed, part(ONE)]))).toBe(true);
    const old = recordOf([here, of(here, { request: 1 }), part(ONE, TWO, ONE, TWO)], { requests: 2 });
    expect([isUnsaved(old), filesByIndex(old)]).toEqual([true, [ONE, TWO]]);
    expect(withLine(old, counted([2, 2], ONE, TWO, null, ONE)).files).toEqual([ONE, TWO, null, ONE]);
    const ended = withLine(old, { ...saved, files: [ONE, TWO, ONE, TWO] });
    expect([ended.state, filesByIndex(ended)]).toEqual(["saved", [ONE, TWO, ONE, TWO]]);
  });

  it("that are saved are known while others are not, however often the task completes", () => {
    const lines = [accepted, completed, part(null, TWO), completed, part(ONE, null, null)];
    const task = recordOf(lines);
    expect([task.state, task.files]).toEqual(["completed", [ONE, TWO, null]]);
    expect([getSavedFiles(task), isUnsaved(task)]).toEqual([[ONE, TWO], true]);
    const whole = recordOf([...lines, { ...saved, files: [ONE, TWO] }]);
    expect([whole.state, whole.isSaved, isUnsaved(whole)]).toEqual(["saved", true, false]);
  });

  it("are those of the end, which has no gap for one that is lost", () => {
    const each = [of(here, { request: 0 }), of(unknown, { request: 1 }), of(here, { request: 2 })];
    const lines = [...each, part(ONE, null, TWO), dismissed];
    const task = recordOf([...lines, { ...saved, files: [ONE, TWO] }], { requests: 3 });
    expect(getSavedFiles(task)).toEqual([ONE, TWO]);
  });

  it("that were saved before the service called the task failed are kept", () => {
    const task = recordOf([accepted, completed, part(ONE, null), failed]);
    expect([task.state, task.files]).toEqual(["failed", [ONE, null]]);
  });

  it("are unsaved if one is made and no file: of each request, or a further one", () => {
    expect(isUnsaved(recordOf([accepted]))).toBe(false);
    expect(isUnsaved(recordOf([accepted, completed]))).toBe(true);
    expect(isUnsaved(recordOf([accepted, completed, counted([1], ONE)]))).toBe(false);
    expect(isUnsaved(recordOf([accepted, completed, counted([2], ONE, null)]))).toBe(true);
    const two = recordOf([here, of(unknown, { request: 1 }), counted([1, 0], ONE, null)], { requests: 2 });
    expect([isUnsaved(two), two.state, openTaskState(two)]).toEqual([false, "completed", "unknown"]);
  });
});

describe("the process that has a task", () => {
  it("is the one of its last part, until that has released it", () => {
    expect(recordOf([])).toMatchObject({ holder: LINES.intent.holder, mark: LINES.intent.holder });
    expect(recordOf([started, taken])).toMatchObject({ holder: taken.holder, mark: taken.holder });
    expect(recordOf([started, taken, released])).toMatchObject({ holder: null, mark: taken.holder });
    expect(recordOf([released, taken])).toMatchObject({ holder: taken.holder });
  });
});

describe("a new task", () => {
  it("waits, or counts as sent from its first line on", () => {
    expect(stateAfter()).toBe("waiting");
    const sent = taskFromIntent("x", { ...LINES.intent, attempt: "1.0" });
    expect(sent).toEqual(withLine(taskFromIntent("x", LINES.intent), started));
    expect(sent).toMatchObject({
      state: "started",
      intent: INTENT,
      requests: [{ attempt: { name: "1.0" } }],
    });
    expect(sent.intent).toEqual(INTENT);
  });

  it("names the claim that it is for, and whether it is withdrawn for another", () => {
    expect(recordOf([])).toMatchObject({ claim: null, isOnce: false });
    const task = taskFromIntent("x", { ...LINES.intent, claim: "ab/cd-1.1", once: true });
    expect(task).toMatchObject({ claim: "ab/cd-1.1", isOnce: true });
  });

  it("has our own id if its provider gives its requests others", () => {
    expect(getTaskId(recordOf([accepted]))).toBe("task-1");
    expect(getTaskId(recordOf([]))).toBeNull();
    expect(getTaskId(recordOf([accepted], {}))).toBe("task_of_ours");
  });
});

it("a task is open if and only if something is left to do", () => {
  const open = Object.entries(STATES).flatMap(([name, { isOpen }]) => (isOpen ? [name] : []));
  expect(open).toEqual(["started", "accepted", "waiting", "completed", "unknown"]);
});

describe("the summary of a task", () => {
  const readAgain = (...lines: Line[]) =>
    recordOf(summaryLines(recordOf(lines, { requests: 2 })), { requests: 2 });
  const other = (line: Line) => of(line, { request: 1 });

  it.each<Line[][]>([
    [[started, refused, other(started), other(failed)]],
    [[started, unknown, second(started), second(waiting), dismissed, other(not_sent)]],
    [[started, here, unusable, dismissed, other(not_sent)]],
    [[started, accepted, completed, other(refused), { ...saved, files: [ONE] }]],
  ])("of %j says how it has ended", (lines) => {
    const task = recordOf(lines, { requests: 2 });
    const read = readAgain(...lines);
    expect(STATES[task.state].isOpen).toBe(false);
    expect(read.requests.map(({ state }) => state)).toEqual(task.requests.map(({ state }) => state));
    expect([read.state, read.files, read.dismissal]).toEqual([task.state, task.files, task.dismissal]);
  });
});
