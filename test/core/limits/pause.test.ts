import { describe, expect, it } from "vitest";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import { Gate } from "../../../src/core/limits/gate.ts";
import type { PollReply } from "../../../src/providers/provider.ts";
import { steppedClock } from "../../support/fake-clock.ts";

const RUNNING: PollReply = { outcome: "state", task: { status: "running", providerState: null } };
const BUSY: PollReply = {
  outcome: "retry",
  why: "429",
  rateLimited: true,
  retryAfterMs: 5_000,
  connectionError: null,
};
const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const ids = (count: number) => Array.from({ length: count }, (_, at) => `task-${at}`);

/** A gate before a provider whose polls the test answers, one after the other. */
function limited() {
  const open: { taskId: string; answer: (reply: PollReply) => void }[] = [];
  const clock = steppedClock();
  const gate = new Gate({ clock, random: () => 1, onOutage: () => {} });
  const poll = (taskId: string, timeoutMs?: number, signal = never) =>
    gate.poll(() => new Promise((answer) => open.push({ taskId, answer })), timeoutMs, signal);
  /** Polls a task, which is answered so. */
  const answered = async (reply: PollReply) => {
    const polled = poll("task-0");
    await turn();
    open.pop()?.answer(reply);
    return polled;
  };
  return { open, clock, gate, poll, answered };
}

describe("polls", () => {
  it("are sent 32 at once, and the others in their order as those are answered", async () => {
    const { open, poll } = limited();
    const all = ids(40).map((id) => poll(id));
    await turn();
    expect(open.map(({ taskId }) => taskId)).toEqual(ids(32));
    for (let at = 0; at < 40; at++) {
      open[at]?.answer(RUNNING);
      await turn();
    }
    expect(open.map(({ taskId }) => taskId)).toEqual(ids(40));
    expect(await Promise.all(all)).toEqual(ids(40).map(() => RUNNING));
  });

  it("are not sent until the time is over that a 429 asked for, not even those that waited for others", async () => {
    const { open, clock, poll } = limited();
    const all = ids(34).map((id) => poll(id));
    await turn();
    open[0]?.answer(BUSY);
    expect(await all[0]).toEqual(BUSY);
    void poll("task-34");
    clock.advance(4_999);
    await turn();
    expect(open).toHaveLength(32);
    clock.advance(1);
    await turn();
    expect(open).toHaveLength(33);
    expect(open.at(-1)?.taskId).toMatch(/^task-3[2-4]$/);
  });

  it("are paused for longer with each 429 in a row, until another reply", async () => {
    const { open, clock, poll, answered } = limited();
    const noTime = { ...BUSY, retryAfterMs: null };
    for (const [reply, ms] of [
      [noTime, 1000],
      [noTime, 2000],
      [RUNNING, 0],
      [noTime, 1000],
    ] as const) {
      await answered(reply);
      if (ms > 0) expect(await poll("x", ms - 1)).toMatchObject({ retryAfterMs: ms });
      clock.advance(ms);
    }
    expect(open).toEqual([]);
  });

  it("do not wait for a turn that comes after the time there is, and have how long it would take", async () => {
    const { open, poll, answered } = limited();
    await answered(BUSY);
    expect(await poll("task-1", 1_000)).toMatchObject({
      outcome: "retry",
      rateLimited: true,
      retryAfterMs: 5_000,
    });
    expect(open).toEqual([]);
  });

  it("are not sent after a signal, which ends their pause too", async () => {
    const { open, poll, answered } = limited();
    const stop = new AbortController();
    const all = ids(40).map((id) => poll(id, undefined, stop.signal));
    await turn();
    stop.abort(new Error("stopped"));
    for (const { answer } of open.splice(0)) answer(RUNNING);
    await Promise.all(all);
    expect(open).toEqual([]);
    await answered(BUSY);
    const paused = new AbortController();
    const waiting = poll("task-1", undefined, paused.signal);
    paused.abort(new Error("stopped"));
    expect(await waiting).toMatchObject({ outcome: "retry", why: "interrupted" });
  });

  it("never throw", async () => {
    const { gate } = limited();
    const error = new TypeError("the provider of this task cannot be polled");
    const reply = await gate.poll(() => Promise.reject(error), undefined, never);
    expect(reply).toMatchObject({ outcome: "retry", why: error.message, connectionError: error });
  });
});

describe("polls and submits", () => {
  it("have pauses of their own: a 429 for one holds up the other never", async () => {
    const { gate, answered } = limited();
    await answered(BUSY);
    const pass = await gate.enter(never);
    if (pass === null) throw new Error("given up");
    expect(gate.check(pass, never)).toBe(true);
    const other = limited();
    const submitted = await other.gate.enter(never);
    if (submitted === null) throw new Error("given up");
    const busy = {
      outcome: "rate_limited",
      retryAfterMs: 60_000,
      error: new BudgetExceededError("429"),
    } as const;
    other.gate.report(submitted, busy, never, "a");
    expect(await other.answered(RUNNING)).toEqual(RUNNING);
  });

  it("are independent: polls go on in an outage, and after a stop", async () => {
    const { gate, answered } = limited();
    const pass = await gate.enter(never);
    if (pass === null) throw new Error("given up");
    gate.report(pass, { outcome: "not_sent", cause: new Error("refused") }, never, "a");
    expect(gate.outage).not.toBeNull();
    expect(await answered(RUNNING)).toEqual(RUNNING);
    gate.stop(new BudgetExceededError("over"));
    expect(await answered(RUNNING)).toEqual(RUNNING);
  });
});
