import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { AuthRequiredError, ServiceError } from "../../../src/api/api-errors.ts";
import { findUnfinished } from "../../../src/core/engine/again.ts";
import type { PollReply, SubmitReply } from "../../../src/providers/provider.ts";
import { LINES } from "../../support/records.ts";
import { type Answer, drawn, endless, lost } from "../../support/scripted-provider.ts";
import { pause } from "../../support/wait.ts";
import { type JobOptions, linesIn, workWorld } from "./work-world.ts";

const { started } = LINES;
const BUSY = new ServiceError("It is busy.", { charged: "no" });

/** A task that a command of another process cancels while its first request is in flight. */
async function cancelledOnItsWay(then: Answer, options: JobOptions = {}) {
  const world: Awaited<ReturnType<typeof workWorld>> = await workWorld({
    ...options,
    answer: async (job, how, number) => {
      for (const entry of await world.deps.ledger.unfinished())
        if (entry.kind === "task") await world.deps.ledger.markCancelled(entry.task);
      return then(job, how, number);
    },
  });
  return world;
}

/** The tasks that are marked. */
const marksIn = ({ stateFolder }: { stateFolder: string }) =>
  readdirSync(path.join(stateFolder, "tasks", "cancelled"));

/** A task that waits, marked by a command that nobody has heard yet. */
async function markedTask(options: JobOptions = {}) {
  const world = await workWorld(options);
  const id = await world.leave();
  await world.deps.ledger.cancels.add(id);
  return { ...world, id };
}

describe("a task that was cancelled while a process had it", () => {
  it("is ended by the next one that takes it up, and nothing is sent", async () => {
    const world = await markedTask();
    expect(await world.resume(world.id)).toMatchObject({
      state: "cancelled",
      charged: "no",
      error: { type: "generation_failed", message: "Task task_1 has no image: it was cancelled." },
    });
    expect(linesIn(world)).toEqual({ folder: "done", types: ["intent", "taken", "not_sent"] });
    expect([world.provider.jobs, marksIn(world)]).toEqual([[], []]);
  });

  it("after its paid request was sent is of unknown outcome all the same, and never called free", async () => {
    const world = await workWorld();
    const id = await world.leave([started]);
    await world.deps.ledger.cancels.add(id);
    expect(await world.resume(id)).toMatchObject({ state: "unknown", charged: "unknown" });
    expect(world.provider.jobs).toEqual([]);
  });
});

describe("marks that the disk does not give", () => {
  /** A task that waits, and a folder of marks that nobody can look into. */
  async function unreadableMarks() {
    const world = await workWorld();
    const tasks = path.join(world.stateFolder, "tasks");
    mkdirSync(tasks, { recursive: true });
    symlinkSync("cancelled", path.join(tasks, "cancelled"));
    return world;
  }

  it("keep a request from being sent, at no charge: its task may have been reported as cancelled", async () => {
    const world = await unreadableMarks();
    expect(await world.generate()).toMatchObject({
      state: "not_sent",
      charged: "no",
      error: { type: "save_failed" },
    });
    expect(world.provider.jobs).toEqual([]);
  });

  it("are an expected error where the same request is submitted again", async () => {
    const { deps, spec, leave } = await unreadableMarks();
    await leave();
    const finding = findUnfinished(spec.checked.request, deps, () => false);
    await expect(finding).rejects.toMatchObject({ type: "save_failed" });
  });
});

describe("a mark that comes while a paid request is in flight", () => {
  it("ends none of what was sent: its image is saved", async () => {
    const world = await cancelledOnItsWay((job) => drawn(job));
    expect(await world.generate()).toMatchObject({ state: "saved", charged: "yes", error: null });
    expect(marksIn(world)).toEqual([]);
  });

  it("keeps the other requests from being sent", async () => {
    const world = await cancelledOnItsWay((job) => drawn(job), { images: 3 });
    expect(await world.generate()).toMatchObject({
      state: "saved",
      charged: "yes",
      files: [{ width: 8 }],
      error: { type: "partial" },
    });
    expect(world.provider.jobs).toHaveLength(1);
  });

  it("keeps it from being sent again after a 429", async () => {
    const busy: SubmitReply = { outcome: "rate_limited", retryAfterMs: 5000, error: BUSY };
    const world = await cancelledOnItsWay(async () => busy);
    expect(await world.generate()).toMatchObject({ state: "cancelled", charged: "no" });
    expect(world.provider.jobs).toHaveLength(1);
  });

  it("leaves the outcome unknown where the reply is lost", async () => {
    const world = await cancelledOnItsWay(() => lost());
    expect(await world.generate()).toMatchObject({ state: "unknown", charged: "unknown" });
  });
});

it("a free request in flight is given up, with the grace of a server too", async () => {
  for (const keeping of [undefined, { graceMs: 3_600_000, pause: new AbortController().signal }]) {
    const world = await cancelledOnItsWay(endless, { work: { isPaid: false } });
    Object.assign(world.deps, { keeping });
    expect(await world.generate()).toMatchObject({
      state: "cancelled",
      charged: "no",
      error: { type: "generation_failed", message: "Task task_1 has no image: it was cancelled." },
    });
    expect(world.provider.jobs).toHaveLength(1);
  }
});

describe("a task that its provider has accepted", () => {
  const ofPoll = (task: Extract<PollReply, { outcome: "state" }>["task"]): PollReply => ({
    outcome: "state",
    task,
  });
  /** Marks the task at its first poll. @param then what the polls say after that */
  async function cancelledWhilePolled(answer: boolean | null | Error, then: PollReply) {
    const world = await workWorld({ answer: async () => ({ outcome: "accepted", taskId: "theirs" }) });
    const asked: string[] = [];
    const cancel = async (id: string) => {
      asked.push(id);
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const poll = async () => {
      for (const entry of await world.deps.ledger.unfinished())
        if (entry.kind === "task") await world.deps.ledger.markCancelled(entry.task);
      // Its process looks for marks now and then.
      await pause(50);
      return asked.length > 0 ? then : ofPoll({ status: "running", providerState: null });
    };
    Object.assign(world.provider, { cancel, poll });
    return { ...world, asked };
  }

  it("is asked by its process to stop, and the provider's word is what it has cost", async () => {
    const end = ofPoll({ status: "failed", errorCode: null, charged: "no" });
    const world = await cancelledWhilePolled(true, end);
    expect(await world.generate()).toMatchObject({ state: "cancelled", charged: "no" });
    expect(world.asked).toEqual(["theirs"]);
  });

  it.each([
    ["does not stop it", false],
    ["refuses the key for that", new AuthRequiredError("No.")],
  ])("goes on where the provider %s", async (_what, answer) => {
    const end = ofPoll({ status: "failed", errorCode: "E7" });
    const world = await cancelledWhilePolled(answer, end);
    expect(await world.generate()).toMatchObject({ state: "failed", charged: "unknown" });
    expect(world.asked).toEqual(["theirs"]);
  });
});
