import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AuthRequiredError } from "../../../src/api/api-errors.ts";
import { submitNew } from "../../../src/core/engine/begin.ts";
import { ClaimedTask } from "../../../src/core/engine/claimed-task.ts";
import type { TaskProgressEvent } from "../../../src/core/engine/events.ts";
import { type SubmitSpec, submitRequests } from "../../../src/core/engine/send.ts";
import { Queue } from "../../../src/core/limits/turns.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { systemProcesses } from "../../../src/lib/processes.ts";
import { TaskFile } from "../../../src/store/task-file.ts";
import { getTaskId } from "../../../src/task/task.ts";
import { counted } from "../../support/counted.ts";
import { fakeClock, steppedClock } from "../../support/fake-clock.ts";
import { deadPort, liveServer } from "../../support/live-server.ts";
import { INTENT } from "../../support/records.ts";
import { scriptedProvider } from "../../support/scripted-provider.ts";
import { type Behaviour, failure, json, response, success } from "../../support/scripted-server.ts";
import { type TaskWorld, type TaskWorldOptions, taskWorld } from "../../support/task-world.ts";
import { words } from "../../support/words.ts";
import { linesIn } from "./work-world.ts";

const ACCEPTED = success({ taskId: "task-1" });
const BUSY = response(429, "");

/** As a request to the hosted service is submitted. */
const SPEC: SubmitSpec = { timeoutMs: null, maxWaitMs: 180_000, maxUnsent: 4, isContinued: false };

/** A task of the hosted service that this process holds, and sends. */
async function sending(world: TaskWorld, spec: Partial<SubmitSpec> = {}) {
  const { ledger, connection } = world.deps;
  const owned = await ledger.begin({ ...INTENT, service: connection.identity });
  onTestFinished(() => owned.file.closeIfPossible());
  const held = new ClaimedTask(ledger, owned, () => {});
  const stop = await submitRequests(held, { ...SPEC, ...spec }, world.deps);
  return { state: held.task.state, taskId: getTaskId(held.task), charged: held.charged, stop, held };
}

/** Submits to a service that answers each time in turn, the last answer for ever. */
async function submitting(
  answers: (Buffer | Behaviour)[],
  options: TaskWorldOptions & Partial<SubmitSpec> = {},
) {
  let at = 0;
  const server = await liveServer((request, socket) => {
    const answer = answers[Math.min(at++, answers.length - 1)] ?? BUSY;
    if (typeof answer === "function") return answer(request, socket);
    socket.write(answer);
  });
  const world = await taskWorld(server.baseUrl, options);
  const { maxWaitMs: patienceMs = SPEC.maxWaitMs } = options;
  return { sent: sending(world, { maxWaitMs: patienceMs }), server, ...world };
}

const reset: Behaviour = (_request, socket) => void socket.resetAndDestroy();
const silence: Behaviour = () => {};

describe("a submit", () => {
  it("that is accepted is sent once", async () => {
    const { sent, server, events } = await submitting([ACCEPTED]);
    expect(await sent).toMatchObject({ state: "accepted", taskId: "task-1", stop: null });
    expect(server.submits()).toHaveLength(1);
    expect(events).toEqual([{ type: "submitting" }, { type: "accepted", taskId: "task-1", request: 0 }]);
  });

  // Which replies leave it open whether it was accepted: test/providers/service/http-service.test.ts.
  it("that may have been accepted is never sent again", async () => {
    const { sent, server, clock } = await submitting([reset, ACCEPTED]);
    expect(await sent).toMatchObject({ state: "unknown", charged: "unknown" });
    expect(server.submits()).toHaveLength(1);
    expect(clock.waits).toEqual([]);
  });

  it("that is refused is not sent again, and cost nothing", async () => {
    const { sent, server } = await submitting([failure("login_required"), ACCEPTED]);
    const error = { type: "auth_required", charged: "no" };
    expect(await sent).toMatchObject({ state: "refused", charged: "no", stop: error });
    expect(server.submits()).toHaveLength(1);
  });
});

describe("a submit that never left", () => {
  it("is tried four times, with longer and longer waits, and cost nothing", async () => {
    const world = await taskWorld(`http://127.0.0.1:${await deadPort()}/api`);
    expect(await sending(world)).toMatchObject({
      state: "not_sent",
      charged: "no",
      stop: { type: "network", charged: "no", message: expect.stringContaining("refused") },
    });
    expect(world.clock.waits).toEqual([500, 1000, 2000]);
    expect(world.events.filter(({ type }) => type === "submitting")).toHaveLength(4);
    const types = words("intent started waiting started waiting started waiting started waiting not_sent");
    expect(linesIn(world).types).toEqual(types);
  });
});

describe("a submit that is turned away with 429", () => {
  it("is sent again until it is accepted", async () => {
    const { sent, server, clock } = await submitting([BUSY, BUSY, ACCEPTED]);
    expect(await sent).toMatchObject({ state: "accepted", taskId: "task-1", stop: null });
    expect(server.submits()).toHaveLength(3);
    expect(clock.waits).toEqual([500, 1000]);
  });

  it("is sent again five times at the most, and cost nothing", async () => {
    const { sent, server, clock } = await submitting([BUSY]);
    const stop = { type: "service_error", charged: "no" };
    expect(await sent).toMatchObject({ state: "not_sent", charged: "no", stop });
    expect(server.submits()).toHaveLength(6);
    expect(clock.waits).toEqual([500, 1000, 2000, 4000, 8000]);
  });

  it("is no longer sent again once an answer was lost", async () => {
    const { sent, server } = await submitting([BUSY, reset, ACCEPTED]);
    expect(await sent).toMatchObject({ state: "unknown" });
    expect(server.submits()).toHaveLength(2);
  });
});

describe("a signal", () => {
  it("before the submit keeps it from being sent", async () => {
    const world = await taskWorld((await liveServer(silence)).baseUrl);
    world.interrupt("SIGTERM");
    expect(await sending(world)).toMatchObject({
      state: "not_sent",
      stop: { type: "interrupted", signal: "SIGTERM", charged: "no" },
    });
    expect(world.events).toEqual([]);
  });

  it("during the submit waits for its id, which is in flight", async () => {
    const clock = steppedClock();
    const later: Behaviour = (_request, socket) => {
      world.interrupt();
      clock.advance(9_900);
      setTimeout(() => socket.write(ACCEPTED), 30);
    };
    const world = await submitting([later], { clock });
    expect(await world.sent).toMatchObject({
      state: "accepted",
      taskId: "task-1",
      stop: { type: "interrupted" },
    });
    expect(world.events).toEqual([
      { type: "submitting" },
      { type: "submit_interrupted", taskId: null, waitMs: 10_000 },
      { type: "accepted", taskId: "task-1", request: 0 },
    ]);
  });

  it("during the submit waits 10 s at the most, and then the outcome is unknown", async () => {
    const clock = steppedClock();
    const never: Behaviour = () => {
      world.interrupt("SIGHUP");
      clock.advance(10_000);
    };
    const world = await submitting([never, ACCEPTED], { clock, service: { requestTimeoutMs: 30_000 } });
    const { state, stop } = await world.sent;
    expect([state, stop]).toMatchObject(["unknown", { signal: "SIGHUP", charged: "unknown" }]);
    expect(stop).toBeInstanceOf(InterruptedError);
    expect(world.server.submits()).toHaveLength(1);
  });

  it("during a submit that is refused leaves it refused", async () => {
    const refusing: Behaviour = (_request, socket) => {
      world.interrupt();
      socket.write(failure("login_required"));
    };
    const world = await submitting([refusing], { clock: steppedClock() });
    expect(await world.sent).toMatchObject({ state: "refused", stop: { type: "auth_required" } });
  });

  it("between two attempts ends them: nothing was sent", async () => {
    const turnedAway: Behaviour = (_request, socket) => {
      socket.write(BUSY);
      setTimeout(() => world.interrupt(), 30);
    };
    const world = await submitting([turnedAway, ACCEPTED], { clock: steppedClock() });
    expect(await world.sent).toMatchObject({
      state: "not_sent",
      stop: { type: "interrupted", charged: "no" },
    });
    expect(world.server.submits()).toHaveLength(1);
  });
});

it("Retry-After counts against the whole patience, not against each answer separately", async () => {
  const busy = json({}, 429, { "retry-after": "100" });
  const { sent, server, clock } = await submitting([busy, busy, ACCEPTED], { maxWaitMs: 180_000 });
  expect(await sent).toMatchObject({ state: "not_sent", stop: { charged: "no" } });
  expect(server.submits()).toHaveLength(2);
  expect(clock.waits).toEqual([100_000]);
});

it("a bug on the way out is a request that was not sent", async () => {
  const world = await taskWorld("http://127.0.0.1:9/api");
  world.deps.connection.provider.submit = () => Promise.reject(new TypeError("a bug"));
  expect(await sending(world)).toMatchObject({ state: "not_sent", charged: "no", stop: { charged: "no" } });
});

describe("the record of a submit's attempts", () => {
  it("has a 429 before it is waited out, and each attempt before it is sent", async () => {
    const seen: string[][] = [];
    const look =
      (answer: Buffer): Behaviour =>
      (_request, socket) => {
        seen.push(linesIn(world).types);
        socket.write(answer);
      };
    const clock = fakeClock();
    const world = await submitting([look(BUSY), look(ACCEPTED)], {
      clock: {
        ...clock,
        async sleep(ms, signal) {
          seen.push([...linesIn(world).types, `${ms} ms`]);
          await clock.sleep(ms, signal);
        },
      },
    });
    expect(await world.sent).toMatchObject({ state: "accepted" });
    expect(seen).toEqual([
      ["intent", "started"],
      ["intent", "started", "waiting", "500 ms"],
      ["intent", "started", "waiting", "started"],
    ]);
  });

  it("has no attempt sent that could not be recorded: it costs nothing", async () => {
    const refusing: Behaviour = (_request, socket) => {
      const full = Object.assign(new Error("full"), { code: "ENOSPC" });
      const recording = vi.spyOn(TaskFile.prototype, "record").mockRejectedValue(full);
      onTestFinished(() => recording.mockRestore());
      socket.write(BUSY);
    };
    const { sent, server } = await submitting([refusing, ACCEPTED]);
    expect(await sent).toMatchObject({ charged: "no", stop: { type: "save_failed", charged: "no" } });
    expect(server.submits()).toHaveLength(1);
  });
});

describe("a request whose turn at its provider is another's", () => {
  /** A task that waits for its turn, which the test has. */
  async function waitingForTurn() {
    const provider = scriptedProvider();
    const waiting = counted();
    const onProgress = ({ type }: TaskProgressEvent) => void (type === "progress" && waiting.add());
    const world = await taskWorld("http://127.0.0.1:9/api", { provider, onProgress });
    const { connection } = world.deps;
    const deps = { processes: systemProcesses(), clock: systemClock };
    const queue = new Queue(path.join(world.stateFolder, "turns"), { concurrency: 1, leaseMs: 60_000 }, deps);
    const turn = await queue.take("before", { signal: new AbortController().signal });
    const generator = connection.generator && { ...connection.generator, queue };
    const checked = { request: { prompt: "a fox", model: "flux" }, credits: null, warnings: [] };
    const spec = { checked, destination: world.destination, wait: { timeoutMs: null, schedule: null } };
    const running = submitNew(spec, { ...world.deps, connection: { ...connection, generator } });
    await waiting.reached(1);
    return { ...world, provider, running, turn };
  }

  it("counts as sent only once it has its turn", async () => {
    const { stateFolder, provider, running, turn } = await waitingForTurn();
    expect([linesIn({ stateFolder }).types, provider.jobs]).toEqual([["intent"], []]);
    await turn.release();
    expect(await running).toMatchObject({ state: "saved", error: null });
    expect(provider.jobs).toHaveLength(1);
  });

  it("is not sent if the account is refused meanwhile", async () => {
    const { deps, provider, running, turn, stateFolder } = await waitingForTurn();
    deps.gate.stop(new AuthRequiredError("No key is set."));
    await turn.release();
    expect(await running).toMatchObject({
      state: "not_sent",
      charged: "no",
      error: { type: "auth_required" },
    });
    expect([linesIn({ stateFolder }).types, provider.jobs]).toEqual([["intent", "not_sent"], []]);
  });

  it("was not sent if it is given up before that", async () => {
    const { provider, running, interrupt, stateFolder, turn } = await waitingForTurn();
    interrupt();
    expect(await running).toMatchObject({ state: "not_sent", charged: "no", error: { type: "interrupted" } });
    expect(linesIn({ stateFolder }).types).toEqual(["intent", "not_sent"]);
    expect(provider.jobs).toEqual([]);
    await turn.release();
  });
});
