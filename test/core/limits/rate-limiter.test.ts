import { setMaxListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/core/engine/errors.ts";
import { RateLimiter, withLimitedPolls } from "../../../src/core/limits/rate-limiter.ts";
import type { PollReply, Provider } from "../../../src/providers/provider.ts";
import { steppedClock } from "../../support/fake-clock.ts";

const never = new AbortController().signal;
setMaxListeners(0, never);

function newLimiter(random = () => 0) {
  const clock = steppedClock();
  return { clock, limiter: new RateLimiter({ clock, random }) };
}

/** Whether a promise has come to its end by now. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  const note = () => {
    over = true;
  };
  promise.then(note, note);
  await new Promise(setImmediate);
  return over;
}

/** Lets so many submits in, and says which of them are. */
async function entered(limiter: RateLimiter, count: number): Promise<number> {
  const entries = Array.from({ length: count }, () => limiter.enter(never));
  const over = await Promise.all(entries.map(isOver));
  return over.filter(Boolean).length;
}

describe("the rate limiter of a batch", () => {
  it("lets all through while none was refused", async () => {
    const { limiter, clock } = newLimiter();
    expect(await entered(limiter, 50)).toBe(50);
    expect(clock.waits).toEqual([]);
  });

  it("stops everybody until the time has passed that the service asked for", async () => {
    const { limiter, clock } = newLimiter();
    limiter.slowDown(5000);
    const [submit, poll] = [limiter.enter(never), limiter.pause(never)];
    clock.advance(4999);
    expect([await isOver(submit), await isOver(poll)]).toEqual([false, false]);
    clock.advance(1);
    expect([await isOver(submit), await isOver(poll)]).toEqual([true, true]);
  });

  it("keeps to the longest of several times that were asked for", async () => {
    const { limiter, clock } = newLimiter();
    limiter.slowDown(5000);
    limiter.slowDown(1000);
    const poll = limiter.pause(never);
    clock.advance(4999);
    expect(await isOver(poll)).toBe(false);
    expect(limiter.leftMs).toBe(1);
  });

  it("goes on waiting where another was waiting already", async () => {
    const { limiter, clock } = newLimiter();
    limiter.slowDown(1000);
    const poll = limiter.pause(never);
    await isOver(poll);
    limiter.slowDown(3000);
    clock.advance(1000);
    expect(await isOver(poll)).toBe(false);
    clock.advance(2000);
    expect(await isOver(poll)).toBe(true);
  });

  it("waits longer with each refusal in a row that names no time, and starts over after a success", async () => {
    const { limiter, clock } = newLimiter(() => 1);
    const waits = [1, 2, 3].map(() => {
      limiter.slowDown(null);
      return limiter.leftMs;
    });
    expect(waits).toEqual([1000, 2000, 4000]);
    clock.advance(4000);
    limiter.speedUp();
    limiter.slowDown(null);
    expect(limiter.leftMs).toBe(1000);
  });

  it("halves the submits under way with each refusal, down to one", async () => {
    const { limiter } = newLimiter();
    await entered(limiter, 8);
    limiter.slowDown(null);
    for (let left = 0; left < 8; left++) limiter.leave();
    expect(await entered(limiter, 8)).toBe(4);
    for (let refusals = 0; refusals < 9; refusals++) limiter.slowDown(null);
    for (let left = 0; left < 8; left++) limiter.leave();
    const next = newLimiter();
    await entered(next.limiter, 1);
    next.limiter.slowDown(null);
    next.limiter.leave();
    expect(await entered(next.limiter, 3)).toBe(1);
  });

  it("lets one more through for each that was taken", async () => {
    const { limiter } = newLimiter();
    await entered(limiter, 1);
    limiter.slowDown(null);
    limiter.leave();
    const entries = Array.from({ length: 4 }, () => limiter.enter(never));
    const through = async () => (await Promise.all(entries.map(isOver))).filter(Boolean).length;
    expect(await through()).toBe(1);
    limiter.speedUp();
    expect(await through()).toBe(2);
    limiter.leave();
    expect(await through()).toBe(3);
  });

  it("gives its place to the next where a signal ends the wait for the time", async () => {
    const { limiter, clock } = newLimiter();
    await entered(limiter, 1);
    limiter.slowDown(1000);
    limiter.leave();
    const controller = new AbortController();
    const stopped = limiter.enter(controller.signal);
    const next = limiter.enter(never);
    await isOver(stopped);
    controller.abort(new InterruptedError("SIGINT"));
    await expect(stopped).rejects.toBeInstanceOf(InterruptedError);
    await isOver(next);
    clock.advance(1000);
    expect(await isOver(next)).toBe(true);
  });

  it("ends the wait for a place with the signal", async () => {
    const { limiter } = newLimiter();
    await entered(limiter, 1);
    limiter.slowDown(null);
    const controller = new AbortController();
    const waiting = limiter.enter(controller.signal);
    controller.abort(new InterruptedError("SIGTERM"));
    await expect(waiting).rejects.toMatchObject({ signal: "SIGTERM" });
  });
});

const RUNNING: PollReply = { outcome: "state", task: { status: "running", word: null } };
const BUSY: PollReply = {
  outcome: "retry",
  why: "429",
  rateLimited: true,
  retryAfterMs: 5_000,
  connectionError: null,
};
const signal = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A service whose polls are answered by the test, one after the other. */
function limited() {
  const open: { taskId: string; answer: (reply: PollReply) => void }[] = [];
  const clock = steppedClock();
  const service: Provider = {
    version: 1,
    limits: { concurrency: null, submitMs: 1 },
    close: async () => {},
    submit: () => Promise.reject(new Error("nothing is submitted here")),
    poll: (taskId) => new Promise((answer) => open.push({ taskId, answer })),
  };
  const { poll } = withLimitedPolls(service, { clock, random: () => 0 });
  if (poll === undefined) throw new Error("it cannot be polled");
  return { open, clock, polls: { poll } };
}

const leave = () => {};

it("leaves a provider able to stop what it has accepted, to say how far it is, and to have requests wait for a place", async () => {
  const provider: Provider = {
    version: 1,
    limits: { concurrency: null, submitMs: 1 },
    close: async () => {},
    submit: () => Promise.reject(new Error("nothing is submitted here")),
    poll: async () => RUNNING,
    cancel: async (taskId) => taskId === "task-1",
    follow: async (taskId) => taskId === "task-1",
    place: async () => leave,
  };
  const { cancel, follow, place } = withLimitedPolls(provider, { clock: steppedClock(), random: () => 0 });
  expect(await cancel?.("task-1", signal)).toBe(true);
  expect(await follow?.("task-1", { signal, onProgress: () => {} })).toBe(true);
  expect(await place?.({ signal, onWait: () => {} })).toBe(leave);
});

const ids = (count: number) => Array.from({ length: count }, (_, at) => `task-${at}`);

it("sends 32 polls at once, and the others in their order as those are answered", async () => {
  const { open, polls } = limited();
  const all = ids(40).map((id) => polls.poll(id, undefined, signal));
  await turn();
  expect(open.map(({ taskId }) => taskId)).toEqual(ids(32));
  for (let at = 0; at < 40; at++) {
    open[at]?.answer(RUNNING);
    await turn();
  }
  expect(open.map(({ taskId }) => taskId)).toEqual(ids(40));
  expect(await Promise.all(all)).toEqual(ids(40).map(() => RUNNING));
});

it("sends none of them until the time has passed that a 429 asked for", async () => {
  const { open, clock, polls } = limited();
  const first = polls.poll("task-0", undefined, signal);
  await turn();
  open[0]?.answer(BUSY);
  expect(await first).toEqual(BUSY);
  void polls.poll("task-1", undefined, signal);
  clock.advance(4_999);
  await turn();
  expect(open).toHaveLength(1);
  clock.advance(1);
  await turn();
  expect(open).toHaveLength(2);
});

it("does not wait for a turn that comes after the time there is", async () => {
  const { open, polls } = limited();
  const first = polls.poll("task-0", undefined, signal);
  await turn();
  open[0]?.answer(BUSY);
  await first;
  expect(await polls.poll("task-1", 1_000, signal)).toMatchObject({ outcome: "retry", rateLimited: true });
  expect(open).toHaveLength(1);
});

it("sends nothing after a signal", async () => {
  const { open, polls } = limited();
  const stop = new AbortController();
  const all = ids(40).map((id) => polls.poll(id, undefined, stop.signal));
  await turn();
  stop.abort(new Error("stopped"));
  for (const { answer } of open) answer(RUNNING);
  await Promise.all(all);
  expect(open).toHaveLength(32);
});
