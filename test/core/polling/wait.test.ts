import { describe, expect, it } from "vitest";
import { createIdJob } from "../../../src/core/engine/jobs.ts";
import { defaultSchedule, fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { type WaitSpec, waitForTask, waitTimeoutMs } from "../../../src/core/polling/wait.ts";
import { failedPoll } from "../../../src/providers/failures.ts";
import type { PollReply } from "../../../src/providers/provider.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { liveServer } from "../../support/live-server.ts";
import { scriptedProvider } from "../../support/scripted-provider.ts";
import { type Behaviour, failure, response, success } from "../../support/scripted-server.ts";
import { type TaskWorldOptions, taskWorld } from "../../support/task-world.ts";

const RUNNING = success({ status: "processing", errorCode: 0 });
const JOB = createIdJob("task-1", "/nowhere");
const URL = "https://cdn.example/1.png";
const COMPLETED = success({ status: "completed", resultUrl: URL, errorCode: 0 });
const NOT_YET = failure("image_generation.error.unknown_error");

/** Waits for a task, without real time passing. Polls get these answers in turn, and then the last one again and again. */
async function waiting(
  answers: (Buffer | Behaviour)[],
  options: Partial<WaitSpec> = {},
  more: TaskWorldOptions & { interruptAfter?: number } = {},
) {
  const pollTimes: number[] = [];
  let at = 0;
  const server = await liveServer((request, socket) => {
    pollTimes.push(world.clock.monotonicMs());
    const answer = answers[Math.min(at++, answers.length - 1)] ?? RUNNING;
    if (at === more.interruptAfter) world.interrupt();
    if (typeof answer === "function") return answer(request, socket);
    socket.write(answer);
  });
  const world = await taskWorld(server.baseUrl, more);
  const schedule = fixedSchedule(1000);
  const full = { schedule, timeoutMs: 10_000, ageMs: 0, pollAtOnce: false, job: JOB, ...options };
  const result = await waitForTask("task-1", full, world.deps);
  return { result, pollTimes, ...world };
}

describe("waiting for a task", () => {
  it("ends when it is completed, with its URLs and when it was seen", async () => {
    const { result, pollTimes } = await waiting([RUNNING, RUNNING, COMPLETED]);
    expect(result).toEqual({
      outcome: "ended",
      task: { status: "completed", urls: [URL] },
      seenMs: 3000,
      pendingMs: 2000,
    });
    expect(pollTimes).toEqual([1000, 2000, 3000]);
  });

  it("polls at once, and once, where its provider says that it has ended", async () => {
    const server = await liveServer(RUNNING);
    const { deps } = await taskWorld(server.baseUrl);
    const pauses: number[] = [];
    const stop = new AbortController();
    // Time stands still.
    const sleep = (ms: number, signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        if (pauses.push(ms) === 2) stop.abort();
        signal?.addEventListener("abort", () => reject(signal.reason));
        if (signal?.aborted) reject(signal.reason);
      });
    const clock = { ...deps.clock, sleep };
    const spec = { schedule: fixedSchedule(1000), timeoutMs: 10_000, ageMs: 0, pollAtOnce: false, job: JOB };
    const ended = Promise.resolve();
    const result = await waitForTask("task-1", spec, { ...deps, clock, signal: stop.signal, jobEnd: ended });
    expect(result).toEqual({ outcome: "interrupted" });
    expect(pauses).toEqual([1000, 1000]);
    expect(server.requests.length).toBe(1);
  });

  it("is in time where the clock was set back since the task began", async () => {
    const { pollTimes } = await waiting([RUNNING, COMPLETED], {
      schedule: defaultSchedule,
      ageMs: -3_600_000,
    });
    expect(pollTimes).toEqual([2800, 5600]);
  });

  it("polls for the first time at once where the task may long be finished", async () => {
    const { pollTimes } = await waiting([COMPLETED], { pollAtOnce: true });
    expect(pollTimes).toEqual([0]);
  });

  it("counts from the age that the task has already", async () => {
    const { result } = await waiting([RUNNING, COMPLETED], { ageMs: 100_000 });
    expect(result).toMatchObject({ seenMs: 102_000, pendingMs: 101_000 });
  });
});

describe("the deadline of a wait", () => {
  it("ends it with the task still running", async () => {
    const { result, pollTimes } = await waiting([RUNNING], { timeoutMs: 3500 });
    expect(result).toEqual({ outcome: "timeout", lastFailure: null, wasSeen: true });
    expect(pollTimes).toEqual([1000, 2000, 3000, 3500]);
  });

  it("is the moment of one last poll, which may find the task completed", async () => {
    const { result } = await waiting([RUNNING, RUNNING, RUNNING, COMPLETED], { timeoutMs: 3500 });
    expect(result).toMatchObject({ task: { status: "completed" }, seenMs: 3500 });
  });

  it("allows one poll even where there is no time at all", async () => {
    const { result, pollTimes } = await waiting([COMPLETED], { timeoutMs: 0, pollAtOnce: true });
    expect(result).toMatchObject({ task: { status: "completed" } });
    expect(pollTimes).toEqual([0]);
  });

  it("is not moved by the wall clock", async () => {
    const clock = fakeClock();
    const jump: Behaviour = (_request, socket) => {
      Object.assign(clock, { now: () => Date.UTC(2036, 0, 1) });
      socket.write(RUNNING);
    };
    const { result } = await waiting([jump, COMPLETED], { timeoutMs: 5000 }, { clock });
    expect(result).toMatchObject({ task: { status: "completed" }, seenMs: 2000 });
  });

  it("is followed by a last poll even where the poll before outlasted it, as when a laptop slept", async () => {
    const clock = fakeClock();
    const sleep: Behaviour = (_request, socket) => {
      clock.advance(8 * 3_600_000);
      socket.write(RUNNING);
    };
    const { result, pollTimes } = await waiting([sleep, COMPLETED], { timeoutMs: 60_000 }, { clock });
    expect(result).toMatchObject({ task: { status: "completed" } });
    expect(pollTimes).toHaveLength(2);
  });
});

// Which replies are errors: test/providers/service/http-service.test.ts.
describe("errors while waiting", () => {
  it.each<[string, Buffer | Behaviour]>([
    ["a cut connection", (_request, socket) => void socket.resetAndDestroy()],
    ["HTTP 500", response(500, "")],
  ])("(%s) never ends it", async (_what, trouble) => {
    const { result, events } = await waiting([trouble, trouble, COMPLETED], { timeoutMs: 60_000 });
    expect(result).toMatchObject({ task: { status: "completed" } });
    expect(events).toEqual([
      { type: "poll_failed", taskId: "task-1", why: expect.any(String) },
      { type: "poll_failed", taskId: "task-1", why: expect.any(String) },
    ]);
  });

  it("makes polls rarer and rarer, up to 20 s, and the first good one makes them regular again", async () => {
    const busy = response(500, "");
    const answers = [...Array(8).fill(busy), RUNNING, COMPLETED];
    const { clock } = await waiting(answers, { timeoutMs: 600_000 });
    expect(clock.waits).toEqual([1000, 1000, 1000, 1000, 2000, 4000, 8000, 10_000, 10_000, 1000]);
  });

  it("lasts as long as the service asks for", async () => {
    const busy = response(429, "", { "retry-after": "30" });
    const { clock } = await waiting([busy, COMPLETED], { timeoutMs: 60_000 });
    expect(clock.waits).toEqual([1000, 30_000]);
  });

  it("ends it where the service asks for more patience than there is", async () => {
    const { result, pollTimes } = await waiting([response(503, "", { "retry-after": "3600" })]);
    expect(result).toMatchObject({ outcome: "timeout", lastFailure: { why: "HTTP 503" }, wasSeen: false });
    expect(pollTimes).toHaveLength(1);
  });

  it("of a silent service makes no poll past the time that is left for long", async () => {
    const silence: Behaviour = () => {};
    const { result } = await waiting(
      [silence],
      { timeoutMs: 0, pollAtOnce: true },
      { service: { requestTimeoutMs: 200 } },
    );
    expect(result).toMatchObject({ outcome: "timeout", lastFailure: { why: "no answer within 200 ms" } });
  });
});

describe("a refusal while waiting", () => {
  it.each([
    [failure("login_required"), "auth_required"],
    [response(403, "<html>"), "service_error"],
  ])("ends it at once, with the task still charged", async (answer, type) => {
    const { result, pollTimes } = await waiting([RUNNING, answer, COMPLETED]);
    expect(result).toMatchObject({ outcome: "refused", error: { type, charged: "yes" } });
    expect(pollTimes).toHaveLength(2);
  });

  it("that says the task is not known is borne for the first 30 s", async () => {
    const { result } = await waiting([...Array(20).fill(NOT_YET), COMPLETED], { timeoutMs: 60_000 });
    expect(result).toMatchObject({ task: { status: "completed" }, seenMs: 21_000 });
  });

  it("that says so for longer ends it", async () => {
    const { result, clock } = await waiting([NOT_YET], { timeoutMs: 180_000 });
    expect(result).toMatchObject({
      outcome: "refused",
      error: { key: "image_generation.error.unknown_error" },
    });
    expect(clock.monotonicMs()).toBe(30_000);
  });
});

describe("a signal while waiting", () => {
  it("ends it in the middle of a poll", async () => {
    const { result } = await waiting([() => {}], {}, { interruptAfter: 1 });
    expect(result).toEqual({ outcome: "interrupted" });
  });
});

it.each([
  ["a running task", [RUNNING]],
  ["a task that is not known at first", [...Array(20).fill(NOT_YET), RUNNING]],
  ["a failing service", [response(500, "")]],
  ["a service that fails now and then", [RUNNING, response(502, ""), RUNNING, response(429, "")]],
])("no more than 60 polls are made in any 180 s at %s", async (_what, answers) => {
  const schedule = defaultSchedule;
  const { pollTimes } = await waiting(answers, { schedule, timeoutMs: 600_000 });
  const inWindow = (start: number) => pollTimes.filter((at) => at >= start && at < start + 180_000).length;
  expect(Math.max(...pollTimes.map(inWindow))).toBeLessThanOrEqual(60);
});

const requestOf = (quality?: string) => ({
  prompt: "a fox",
  model: "gamma-image-2",
  ...(quality && { quality }),
});
describe("how long a result is waited for", () => {
  it.each([
    [undefined, 180_000],
    ["2K", 180_000],
    ["4K", 600_000],
  ])("with quality %s, by default, is %i ms, at a resume too", (quality, ms) => {
    expect(waitTimeoutMs({ timeoutMs: null, schedule: null }, requestOf(quality))).toBe(ms);
  });

  it("is what the user said, and 180 s for a task of which nothing is known", () => {
    expect(waitTimeoutMs({ timeoutMs: 0, schedule: null }, requestOf("4K"))).toBe(0);
    expect(waitTimeoutMs({ timeoutMs: null, schedule: null }, null)).toBe(180_000);
  });
});

describe("answers without a word of the job", () => {
  const MISSING: PollReply = failedPoll("HTTP 404", { isMissing: true });
  const REFUSED: PollReply = failedPoll("refused", { connectionError: new Error("ECONNREFUSED") });
  const THERE: PollReply = { outcome: "state", task: { status: "running", providerState: null } };

  /** Waits, with a poll a second and its answers in turn; the last one is repeated. */
  async function polledFor(replies: readonly PollReply[], options: Partial<WaitSpec> = {}) {
    const provider = scriptedProvider();
    const pollTimes: number[] = [];
    const world = await taskWorld("http://127.0.0.1:9", { provider });
    const poll = async () => {
      pollTimes.push(world.clock.monotonicMs());
      return replies[Math.min(pollTimes.length, replies.length) - 1] ?? THERE;
    };
    Object.assign(provider, { poll });
    const spec = { schedule: fixedSchedule(1000), timeoutMs: 120_000, ageMs: 0, pollAtOnce: true, job: JOB };
    const result = await waitForTask("job-1", { ...spec, ...options }, world.deps);
    return { result, endMs: pollTimes.at(-1), count: pollTimes.length };
  }

  it("end a wait after 30 s of nothing else", async () => {
    expect(await polledFor([MISSING])).toMatchObject({
      result: { outcome: "gone", lastFailure: { why: "HTTP 404" } },
      endMs: 30_000,
    });
    expect(await polledFor([MISSING], { ageMs: 3_600_000 })).toMatchObject({ endMs: 30_000 });
  });

  it.each([
    ["the job", THERE],
    ["no answer", REFUSED],
  ])("count anew after %s", async (_what, between) => {
    const { result, endMs = 0 } = await polledFor([...Array(5).fill(MISSING), between, MISSING]);
    expect(result.outcome).toBe("gone");
    expect(endMs).toBeGreaterThan(30_000);
  });

  it("never end one because of a network that is down, or a service that is busy", async () => {
    expect((await polledFor([REFUSED])).result.outcome).toBe("timeout");
    expect((await polledFor([failedPoll("HTTP 429", { rateLimited: true })])).result.outcome).toBe("timeout");
  });

  it("are not waited for again where an earlier wait has found the job gone, unless it is there", async () => {
    expect(await polledFor([MISSING], { isGone: true })).toMatchObject({
      result: { outcome: "gone" },
      count: 1,
    });
    expect(await polledFor([THERE, MISSING], { isGone: true })).toMatchObject({ endMs: 31_000 });
  });
});
