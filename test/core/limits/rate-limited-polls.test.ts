import { expect, it } from "vitest";
import type { ImageService, PollReply } from "../../../src/api/service.ts";
import { RateLimitedPolls } from "../../../src/core/limits/rate-limiter.ts";
import { steppedClock } from "../../support/fake-clock.ts";

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
  const service: ImageService = {
    submitTimeoutMs: 1,
    submit: () => Promise.reject(new Error("nothing is submitted here")),
    poll: (taskId) => new Promise((answer) => open.push({ taskId, answer })),
  };
  return { open, clock, polls: new RateLimitedPolls(service, { clock, random: () => 0 }) };
}

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
