import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ServiceError } from "../../../src/api/api-errors.ts";
import type { PollReply } from "../../../src/providers/provider.ts";
import { png } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { type Answer, drawn, lost, refused } from "../../support/scripted-provider.ts";
import { pause } from "../../support/wait.ts";
import { delayed, twoProcesses } from "./two-processes-world.ts";
import { linesIn } from "./work-world.ts";

const BUSY = new ServiceError("It is busy.", { charged: "no" });
const TAKEN_OVER = {
  name: "TakenOverError",
  type: "pending",
  message: "A process on host b (pid 2) has taken over task task_1.",
};

/** Process 1 is stopped while it waits in the queue, and process 2 has taken its task and submitted it. */
async function stoppedInQueue() {
  const reply = delayed((job) => drawn(job));
  const world = await twoProcesses({ hasQueue: true, answer: reply.answer });
  const generating = world.generate();
  await world.queue.asked.reached(1);
  world.stop();
  const resuming = world.resume(world.two);
  await world.provider.sent(1);
  return { ...world, reply, generating, resuming };
}

describe("a process that was stopped in the queue, and whose task another one has taken and submitted", () => {
  it("submits nothing when it continues, and names who has the task", async () => {
    const { queue, generating, resuming, reply, provider } = await stoppedInQueue();
    queue.give();
    expect(await generating).toMatchObject({ error: TAKEN_OVER });
    reply.send();
    expect(await resuming).toMatchObject({ state: "saved", error: null });
    expect(provider.jobs).toHaveLength(1);
  });

  it("says that it may be charged, while the other one has not submitted it yet", async () => {
    const { queue, generate, stop, two, taskOf, provider } = await twoProcesses({ hasQueue: true });
    const generating = generate();
    await queue.asked.reached(1);
    stop();
    await two.deps.ledger.take(await taskOf());
    queue.give();
    expect(await generating).toMatchObject({ state: "waiting", charged: "unknown", error: TAKEN_OVER });
    expect(provider.jobs).toHaveLength(0);
  });

  it("returns what the other one has saved by then", async () => {
    const { queue, generating, resuming, reply, provider, one } = await stoppedInQueue();
    reply.send();
    await resuming;
    queue.give();
    expect(await generating).toMatchObject({ state: "saved", error: null, files: [{ width: 8 }] });
    expect(provider.jobs).toHaveLength(1);
    expect(await readdir(one.output)).toEqual(["a-fox.png"]);
  });

  it("deletes nothing of the other's reply, which arrives in a folder of its attempt", async () => {
    const { queue, generating, resuming, reply, provider } = await stoppedInQueue();
    const folder = provider.jobs[0]?.folder ?? "";
    const half = path.join(folder, "half");
    await writeFile(half, "half of a reply");
    queue.give();
    await generating;
    expect([path.basename(folder), existsSync(half)]).toEqual(["0-2.0", true]);
    reply.send();
    expect(await resuming).toMatchObject({ state: "saved" });
  });
});

it("a process that is stopped right before it files a refused task away deletes nothing, and nobody submits it", async () => {
  const { generate, one, resume, two, stop, provider } = await twoProcesses({ answer: () => refused(BUSY) });
  const { files } = one.deps.ledger;
  const move = files.moveToDone.bind(files);
  const others: unknown[] = [];
  files.moveToDone = async (task) => {
    stop();
    others.push((await resume(two)).state);
    await move(task);
  };
  expect(await generate()).toMatchObject({ state: "refused", charged: "no" });
  expect([others, provider.jobs.length]).toEqual([["refused"], 1]);
});

describe("a reply that comes after its process was stopped, and its outcome was called unknown", () => {
  /** @param isDismissed whether the user has stopped tracking it meanwhile */
  async function lateReply(reply: Answer, isDismissed: boolean) {
    const late = delayed(reply);
    const world = await twoProcesses({ answer: late.answer });
    const server = await liveService(png());
    const poll = async (): Promise<PollReply> => ({
      outcome: "state",
      task: { status: "completed", urls: [`${server.origin}/files/1.png`] },
    });
    Object.assign(world.provider, { poll });
    const generating = world.generate();
    await world.provider.sent(1);
    world.stop();
    expect(await world.resume(world.two)).toMatchObject({
      state: "unknown",
      error: { type: "outcome_unknown" },
    });
    if (isDismissed) {
      expect(await world.dismiss()).toMatchObject({ state: "dismissed" });
      expect(linesIn(world.one).folder).toBe("done");
    }
    late.send();
    return { ...world, report: await generating };
  }

  const accepted: Answer = async () => ({ outcome: "accepted", taskId: "theirs" });

  it.each([
    ["", false],
    [" and dismissed", true],
  ])("is recorded and told%s, and the task is open again", async (_what, isDismissed) => {
    const { one, report, resume, two, provider } = await lateReply(accepted, isDismissed);
    expect(one.events).toContainEqual({ type: "accepted", taskId: "task_1", request: 0 });
    expect(report).toMatchObject({ state: "accepted", charged: "yes", error: { type: "pending" } });
    expect(linesIn(one).folder).toBe("open");
    expect(await resume(two)).toMatchObject({ state: "saved", charged: "yes", error: null });
    expect(provider.jobs).toHaveLength(1);
  });

  it("that is lost as well changes nothing", async () => {
    const { one, report } = await lateReply(() => lost(), true);
    expect(report).toMatchObject({ charged: "unknown" });
    expect(linesIn(one).folder).toBe("done");
  });
});

describe("an accepted task", () => {
  const RUNNING: PollReply = { outcome: "state", task: { status: "running", providerState: null } };

  /** Process 1 polls a job that is running. */
  async function polling() {
    const world = await twoProcesses({ answer: async () => ({ outcome: "accepted", taskId: "theirs" }) });
    const server = await liveService(png());
    let reply: PollReply = RUNNING;
    const task = { status: "completed" as const, urls: [`${server.origin}/files/1.png`] };
    let polled = () => {};
    const first = new Promise<void>((resolve) => {
      polled = resolve;
    });
    const poll = async () => {
      polled();
      if (reply === RUNNING) await pause(5);
      return reply;
    };
    Object.assign(world.provider, { poll });
    const complete = () => {
      reply = { outcome: "state", task };
    };
    return { ...world, first, complete };
  }

  it("of a living process is never taken from it, however long it waits", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { generate, first, complete, resume, two, clock } = await polling();
    const generating = generate();
    await first;
    for (let renewal = 0; renewal < 30; renewal++) {
      clock.advance(20_000);
      vi.advanceTimersByTime(20_000);
    }
    expect(await resume(two)).toMatchObject({ state: "accepted", error: { type: "pending" } });
    complete();
    await generating;
  });
});

it("an image whose request was dismissed with the others saved is saved in its place, if its reply comes after all", async () => {
  const late = delayed(async () => ({ outcome: "accepted", taskId: "theirs" }));
  const answer: Answer = (job, how, number) => (job.index === 1 ? late.answer(job, how, number) : drawn(job));
  const { generate, resume, dismiss, two, provider, one, stop } = await twoProcesses({
    answer,
    work: { requests: 3 },
  });
  const server = await liveService(png(1));
  const task = { status: "completed", urls: [`${server.origin}/files/1.png`] };
  const generating = generate();
  await provider.sent(2);
  stop();
  // The third is sent by process 2.
  expect(await resume(two)).toMatchObject({ state: "completed", files: [{ width: 8 }, { width: 10 }] });
  expect(await dismiss()).toMatchObject({ state: "saved" });
  expect(linesIn(one).folder).toBe("done");
  late.send();
  Object.assign(provider, { poll: async () => ({ outcome: "state", task }) });
  expect(await generating).toMatchObject({ error: { type: "pending" } });
  expect(linesIn(one).folder).toBe("open");
  expect(await resume(two)).toMatchObject({
    state: "saved",
    error: null,
    files: [{ width: 8 }, { width: 9 }, { width: 10 }],
  });
  expect(provider.jobs.map(({ index }) => index)).toEqual([0, 1, 2]);
});
