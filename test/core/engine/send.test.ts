import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AttemptLog, type SubmitSpec, submitOnce } from "../../../src/core/engine/submit-once.ts";
import { InterruptedError } from "../../../src/core/errors.ts";
import { steppedClock } from "../../support/fake-clock.ts";
import { jobFor } from "../../support/jobs.ts";
import { deadPort, liveServer } from "../../support/live-server.ts";
import { type Behaviour, failure, json, response, success } from "../../support/scripted-server.ts";
import { type TaskWorldOptions, taskWorld } from "../../support/task-world.ts";

const ACCEPTED = success({ taskId: "task-1" });
const BUSY = response(429, "");

/** Records nothing. */
const UNRECORDED: AttemptLog = {
  begin: async () => null,
  rateLimited: async () => {},
  again: async () => {},
};

/** As a request to the hosted service is submitted. */
const SPEC: SubmitSpec = {
  job: jobFor({ prompt: "a fox", model: "gamma-image-2" }),
  log: UNRECORDED,
  turn: null,
  patienceMs: 180_000,
  lostRetries: 0,
  limitMs: null,
  timeoutMs: null,
  graceMs: 10_000,
};

/** Submits to a service that answers each time in turn, the last answer for ever. */
async function submitting(
  answers: (Buffer | Behaviour)[],
  options: TaskWorldOptions & { patienceMs?: number; log?: AttemptLog } = {},
) {
  const { log = UNRECORDED, patienceMs = 180_000 } = options;
  let at = 0;
  const server = await liveServer((request, socket) => {
    const answer = answers[Math.min(at++, answers.length - 1)] ?? BUSY;
    if (typeof answer === "function") return answer(request, socket);
    socket.write(answer);
  });
  const world = await taskWorld(server.baseUrl, options);
  const purchasing = submitOnce({ ...SPEC, log, patienceMs }, world.deps);
  return { purchasing, server, ...world };
}

const reset: Behaviour = (_request, socket) => void socket.resetAndDestroy();
const silence: Behaviour = () => {};

describe("a submit", () => {
  it("that is accepted is sent once", async () => {
    const { purchasing, server, events } = await submitting([ACCEPTED]);
    expect(await purchasing).toEqual({ outcome: "accepted", taskId: "task-1" });
    expect(server.submits()).toHaveLength(1);
    expect(events).toEqual([{ type: "submitting" }]);
  });

  // Which replies leave it open whether it was accepted: test/providers/service/http-service.test.ts.
  it("that may have been accepted is never sent again", async () => {
    const { purchasing, server, clock } = await submitting([reset, ACCEPTED]);
    expect(await purchasing).toMatchObject({
      outcome: "unknown",
      error: { type: "outcome_unknown", charged: "unknown" },
    });
    expect(server.submits()).toHaveLength(1);
    expect(clock.waits).toEqual([]);
  });

  it("that is refused is not sent again, and cost nothing", async () => {
    const { purchasing, server } = await submitting([failure("login_required"), ACCEPTED]);
    const error = { type: "auth_required", charged: "no" };
    expect(await purchasing).toMatchObject({ outcome: "refused", error });
    expect(server.submits()).toHaveLength(1);
  });
});

describe("a submit that never left", () => {
  it("is tried four times, with longer and longer waits, and cost nothing", async () => {
    const world = await taskWorld(`http://127.0.0.1:${await deadPort()}/api`);
    expect(await submitOnce(SPEC, world.deps)).toMatchObject({
      outcome: "not_sent",
      error: { type: "network", charged: "no", message: expect.stringContaining("refused") },
    });
    expect(world.clock.waits).toEqual([250, 500, 1000]);
    expect(world.events.filter(({ type }) => type === "submitting")).toHaveLength(4);
  });

  it("is submitted once when the service is there again", async () => {
    const port = await deadPort();
    const world = await taskWorld(`http://127.0.0.1:${port}/api`);
    const service = createServer((socket) => {
      socket.once("data", () => socket.end(ACCEPTED));
    });
    onTestFinished(() => void service.close());
    const sleep = () => new Promise<void>((resolve) => service.listen(port, "127.0.0.1", resolve));
    const clock = { ...world.clock, sleep };
    const purchase = await submitOnce(SPEC, { ...world.deps, clock });
    expect(purchase).toEqual({ outcome: "accepted", taskId: "task-1" });
  });
});

describe("a submit that is turned away with 429", () => {
  it("is sent again until it is accepted", async () => {
    const { purchasing, server, clock } = await submitting([BUSY, BUSY, ACCEPTED]);
    expect(await purchasing).toEqual({ outcome: "accepted", taskId: "task-1" });
    expect(server.submits()).toHaveLength(3);
    expect(clock.waits).toEqual([500, 1000]);
  });

  it("is sent again five times at the most, and cost nothing", async () => {
    const { purchasing, server, clock } = await submitting([BUSY]);
    const error = { type: "service_error", charged: "no" };
    expect(await purchasing).toMatchObject({ outcome: "refused", error });
    expect(server.submits()).toHaveLength(6);
    expect(clock.waits).toEqual([500, 1000, 2000, 4000, 8000]);
  });

  it("waits as long as the service asks for", async () => {
    const { purchasing, clock } = await submitting([json({}, 429, { "retry-after": "42" }), ACCEPTED]);
    await purchasing;
    expect(clock.waits).toEqual([42_000]);
  });

  it("is given up at once where the service asks for more patience than there is", async () => {
    const busy = json({}, 429, { "retry-after": "42" });
    const { purchasing, server } = await submitting([busy, ACCEPTED], { patienceMs: 41_000 });
    expect(await purchasing).toMatchObject({ outcome: "refused", error: { charged: "no" } });
    expect(server.submits()).toHaveLength(1);
  });

  it("is no longer sent again once an answer was lost", async () => {
    const { purchasing, server } = await submitting([BUSY, reset, ACCEPTED]);
    expect(await purchasing).toMatchObject({ outcome: "unknown" });
    expect(server.submits()).toHaveLength(2);
  });
});

describe("a signal", () => {
  it("before the submit keeps it from being sent", async () => {
    const world = await taskWorld((await liveServer(silence)).baseUrl);
    world.interrupt("SIGTERM");
    expect(await submitOnce(SPEC, world.deps)).toMatchObject({
      outcome: "not_sent",
      error: { type: "interrupted", signal: "SIGTERM", charged: "no" },
    });
    expect(world.events).toEqual([]);
  });

  it("during the submit waits for its id, which is on its way", async () => {
    const clock = steppedClock();
    const later: Behaviour = (_request, socket) => {
      world.interrupt();
      clock.advance(9_900);
      setTimeout(() => socket.write(ACCEPTED), 30);
    };
    const world = await submitting([later], { clock });
    expect(await world.purchasing).toEqual({ outcome: "accepted", taskId: "task-1" });
    expect(world.events).toEqual([
      { type: "submitting" },
      { type: "submit_interrupted", taskId: null, waitMs: 10_000 },
    ]);
  });

  it("during the submit waits 10 s at the most, and then the outcome is unknown", async () => {
    const clock = steppedClock();
    const never: Behaviour = () => {
      world.interrupt("SIGHUP");
      clock.advance(10_000);
    };
    const world = await submitting([never, ACCEPTED], { clock, service: { requestTimeoutMs: 30_000 } });
    const purchase = await world.purchasing;
    expect(purchase).toMatchObject({ outcome: "unknown", error: { signal: "SIGHUP", charged: "unknown" } });
    expect("error" in purchase && purchase.error).toBeInstanceOf(InterruptedError);
    expect(world.server.submits()).toHaveLength(1);
  });

  it("during a submit that is refused leaves it refused", async () => {
    const refusing: Behaviour = (_request, socket) => {
      world.interrupt();
      socket.write(failure("login_required"));
    };
    const world = await submitting([refusing], { clock: steppedClock() });
    expect(await world.purchasing).toMatchObject({ outcome: "refused", error: { type: "auth_required" } });
  });

  it("between two attempts ends them: nothing was sent", async () => {
    const turnedAway: Behaviour = (_request, socket) => {
      socket.write(BUSY);
      setTimeout(() => world.interrupt(), 30);
    };
    const world = await submitting([turnedAway, ACCEPTED], { clock: steppedClock() });
    expect(await world.purchasing).toMatchObject({
      outcome: "not_sent",
      error: { type: "interrupted", charged: "no" },
    });
    expect(world.server.submits()).toHaveLength(1);
  });
});

it("Retry-After counts against the whole patience, not against each answer separately", async () => {
  const busy = json({}, 429, { "retry-after": "100" });
  const { purchasing, server, clock } = await submitting([busy, busy, ACCEPTED], { patienceMs: 180_000 });
  expect(await purchasing).toMatchObject({ outcome: "refused", error: { charged: "no" } });
  expect(server.submits()).toHaveLength(2);
  expect(clock.waits).toEqual([100_000]);
});

it("a bug on the way out is a request that was not sent", async () => {
  const { deps } = await taskWorld("http://127.0.0.1:9/api");
  deps.connection.provider.submit = () => Promise.reject(new TypeError("a bug"));
  expect(await submitOnce(SPEC, deps)).toMatchObject({ outcome: "not_sent", error: { charged: "no" } });
});

describe("the record of a submit's attempts", () => {
  /** Notes what is recorded among what is sent. */
  async function recorded(answers: (Buffer | Behaviour)[], begin: AttemptLog["begin"] = async () => null) {
    const steps: string[] = [];
    const seen = answers.map((answer): Behaviour => {
      return (request, socket) => {
        steps.push("sent");
        return typeof answer === "function" ? answer(request, socket) : void socket.write(answer);
      };
    });
    const log: AttemptLog = {
      ...UNRECORDED,
      begin: (submitMs) => {
        steps.push("begin");
        return begin(submitMs);
      },
      rateLimited: async (_why, waitMs) => void steps.push(`429, up to ${waitMs} ms`),
    };
    const { purchasing, clock } = await submitting(seen, { log, patienceMs: 9_000 });
    const purchase = await purchasing;
    return { steps, purchase, clock };
  }

  it("has a 429 before it is waited out, with how long that may be, and each attempt before it is sent", async () => {
    const { steps, purchase } = await recorded([BUSY, ACCEPTED]);
    expect(purchase).toMatchObject({ outcome: "accepted" });
    expect(steps).toEqual(["begin", "sent", "429, up to 9000 ms", "begin", "sent"]);
  });

  it("has no attempt sent that could not be recorded: it costs nothing", async () => {
    const refusal = new InterruptedError("SIGINT");
    const refusals = [null, refusal];
    const { steps, purchase } = await recorded([BUSY, ACCEPTED], async () => refusals.shift() ?? null);
    expect(purchase).toEqual({ outcome: "not_sent", error: refusal });
    expect(steps.filter((step) => step === "sent")).toHaveLength(1);
  });
});
