import { describe, expect, it, onTestFinished } from "vitest";
import { claimTask } from "../../../src/core/engine/claimed-task.ts";
import type { TaskDeps } from "../../../src/core/engine/deps.ts";
import { closeUnsent } from "../../../src/core/engine/drive.ts";
import { type RunDeps, Runner } from "../../../src/core/engine/runner.ts";
import { InheritedError } from "../../../src/core/errors.ts";
import { Gate } from "../../../src/core/limits/gate.ts";
import { POLICY } from "../../../src/core/limits/policy.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import type { Task } from "../../../src/task/task.ts";
import { quickClock } from "../../support/quick-clock.ts";
import { drawn, refused, type ScriptedProvider, scriptedProvider } from "../../support/scripted-provider.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { taskWorld } from "../../support/task-world.ts";

const SERVER = "server";
const NO_KEY = new InheritedError("auth_required", "No key.", {});

/** A runner with one place, and the ledgers of its process and of another one. */
async function running(provider: ScriptedProvider, depsFor: (deps: TaskDeps) => TaskDeps = (deps) => deps) {
  const processes = someProcesses(1, 2);
  const world = await taskWorld("http://127.0.0.1", { provider, processes: processes.as(1) });
  const { ledger, connection } = world.deps;
  const gate = new Gate({ clock: quickClock, random: () => 0.5, waits: POLICY.serverOutage });
  const ended: Task[] = [];
  const failed: string[] = [];
  const runner = new Runner({
    maxSending: 1,
    graceMs: 0,
    ledger,
    clock: quickClock,
    server: SERVER,
    depsFor: (run: RunDeps) => depsFor({ ...world.deps, ...run, clock: quickClock, gate }),
    onEnded: (task) => ended.push(task),
    onFailed: (_task, why) => failed.push(why),
  });
  onTestFinished(() => runner.close());
  /** A task that waits, as its file says. */
  const begun = async (prompt: string) => {
    const request = { prompt, model: "flux" };
    const { destination } = world;
    const intent = { request, service: connection.identity, credits: null, destination, server: SERVER };
    const owned = await ledger.begin({ ...intent, ...connection.termsFor(request) });
    ledger.release(owned, true);
    return owned.task;
  };
  const other = new Ledger(world.stateFolder, world.clock, processes.as(2));
  return { runner, ledger, other, ended, failed, begun, nameOf: ({ intent }: Task) => intent.taskId ?? "" };
}

/** A provider that answers once it is told to. */
function held() {
  const open: (() => void)[] = [];
  const provider = scriptedProvider(async (job) => {
    await new Promise<void>((resolve) => open.push(resolve));
    return drawn(job);
  });
  return { provider, answer: () => open.shift()?.() };
}

it("takes tasks to their ends, the oldest first, however they come", async () => {
  const { provider, answer } = held();
  const { runner, begun, ended } = await running(provider);
  runner.take(await begun("a fox"));
  await provider.sent(1);
  const waiting = [await begun("a hare"), await begun("an owl"), await begun("a wren")];
  const oldestFirst = waiting.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const task of oldestFirst.toReversed()) runner.take(task);
  for (const count of [1, 2, 3, 4]) {
    await provider.sent(count);
    answer();
  }
  await expect.poll(() => ended.map(({ state }) => state)).toEqual(Array(4).fill("saved"));
  expect(ended.slice(1).map(({ id }) => id)).toEqual(oldestFirst.map(({ id }) => id));
});

describe("of another process", () => {
  it("a task that it has ended is noted while it waits here", async () => {
    const { provider, answer } = held();
    const { runner, begun, other, ended, nameOf } = await running(provider);
    const [drawing, waiting] = [await begun("a fox"), await begun("a hare")];
    runner.take(drawing);
    runner.take(waiting);
    await provider.sent(1);
    const there = await claimTask(waiting, other, () => {}, SERVER);
    if (typeof there === "string") throw new Error(there);
    await closeUnsent(there, "it was stopped", { clock: quickClock });
    await runner.noteEnded();
    expect(ended).toMatchObject([{ id: waiting.id, state: "not_sent" }]);
    expect(runner.countAhead(nameOf(drawing))).toBe(0);
    answer();
    await expect.poll(() => ended).toHaveLength(2);
    expect(provider.jobs).toHaveLength(1);
  });
});

describe("a task that is dropped", () => {
  it("is ended while it waits for the account, and was not sent", async () => {
    const provider = scriptedProvider(() => refused(NO_KEY));
    const { runner, begun, ended, ledger, nameOf } = await running(provider);
    const task = await begun("a fox");
    runner.take(task);
    await provider.sent(1);
    await expect.poll(() => runner.find(nameOf(task))?.isSubmitted).toBe(false);
    // Repeated, as a waiting client does: a request in flight cannot be dropped.
    const dropUntilEnded = () => {
      runner.drop(nameOf(task), "No key.");
      return ended;
    };
    await expect
      .poll(dropUntilEnded)
      .toMatchObject([{ state: "not_sent", requests: [{ notSentReason: "No key." }] }]);
    expect(await ledger.unfinished()).toEqual([]);
  });

  it("is ended while no place is free", async () => {
    const { provider, answer } = held();
    const { runner, begun, ended, nameOf } = await running(provider);
    const [drawing, waiting] = [await begun("a fox"), await begun("a hare")];
    runner.take(drawing);
    runner.take(waiting);
    await provider.sent(1);
    runner.drop(nameOf(waiting), "its client was gone");
    await expect.poll(() => ended).toMatchObject([{ id: waiting.id, state: "not_sent" }]);
    answer();
    await expect.poll(() => ended).toHaveLength(2);
  });
});

it("a task that is paused is sent once it is resumed, and lets others go before it", async () => {
  const provider = scriptedProvider();
  const { runner, begun, ended, nameOf } = await running(provider);
  const [paused, other] = [await begun("a fox"), await begun("a hare")];
  runner.take(paused, true);
  runner.take(other);
  await expect.poll(() => ended).toMatchObject([{ id: other.id }]);
  expect(provider.jobs).toHaveLength(1);
  runner.resume(nameOf(paused));
  await expect.poll(() => ended).toMatchObject([{ id: other.id }, { id: paused.id, state: "saved" }]);
});

it("a task that a fault keeps from being continued is reported once, and tried again after longer and longer delays", async () => {
  const tries: number[] = [];
  const fault = () => {
    throw new Error("a fault");
  };
  const faulty = Object.assign(new Gate({ clock: quickClock, random: () => 0.5 }), { enter: fault });
  const { runner, begun, ended, failed } = await running(scriptedProvider(), (deps) => {
    tries.push(quickClock.monotonicMs());
    return tries.length < 3 ? { ...deps, gate: faulty } : deps;
  });
  runner.take(await begun("a fox"));
  await expect.poll(() => ended, { timeout: 5_000 }).toMatchObject([{ state: "saved" }]);
  expect(failed).toEqual(["a fault"]);
  const [first = 0, second = 0, third = 0] = tries;
  expect(second - first).toBeGreaterThanOrEqual(1_000);
  expect(third - second).toBeGreaterThanOrEqual(2_000);
});
