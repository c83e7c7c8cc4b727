import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/core/errors.ts";
import { AcceptedTasks } from "../../../src/core/engine/accepted-tasks.ts";
import { scriptedProvider } from "../../support/scripted-provider.ts";
import { workWorld } from "./work-world.ts";

const NEVER = new AbortController().signal;
const TASK = { taskId: "task_1", name: "comfy" };
const able = (cancel: () => Promise<boolean | null>) => ({ ...scriptedProvider(), cancel });

describe("what a second signal can stop", () => {
  it("is asked to stop, and what it answers is said", async () => {
    const tasks = new AcceptedTasks();
    tasks.add(
      TASK,
      "a",
      able(async () => true),
    );
    tasks.add(
      { ...TASK, taskId: "task_2" },
      "b",
      able(async () => false),
    );
    tasks.add(
      { ...TASK, taskId: "task_3" },
      "c",
      able(() => Promise.reject(new Error("closed"))),
    );
    expect(tasks.names).toEqual(["comfy"]);
    expect((await tasks.stopAll(NEVER)).map(({ isStopped }) => isStopped)).toEqual([true, false, null]);
  });

  it.each([
    [[true, true], true],
    [[true, false], false],
    [[true, null], null],
  ] as const)("is one task with the requests that it has: %j is %s", async (answers, isStopped) => {
    const tasks = new AcceptedTasks();
    for (const answer of answers)
      tasks.add(
        TASK,
        "a",
        able(async () => answer),
      );
    expect(await tasks.stopAll(NEVER)).toEqual([{ ...TASK, isStopped }]);
  });

  it("is asked about together, however many tasks there are, without a warning of Node's", async () => {
    const tasks = new AcceptedTasks();
    const cancel = (_id: string, signal?: AbortSignal) => {
      signal?.addEventListener("abort", () => {}, { once: true });
      return Promise.resolve(true);
    };
    for (let at = 0; at < 20; at++) tasks.add(TASK, "a", { ...scriptedProvider(), cancel });
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    await tasks.stopAll(AbortSignal.timeout(1_000));
    await new Promise((resolve) => setImmediate(resolve));
    process.removeListener("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("is given up when the time for that is over", async () => {
    const tasks = new AcceptedTasks();
    tasks.add(
      TASK,
      "a",
      able(() => new Promise(() => {})),
    );
    expect(await tasks.stopAll(AbortSignal.timeout(20))).toEqual([{ ...TASK, isStopped: null }]);
    expect(await tasks.stopAll(AbortSignal.abort())).toEqual([{ ...TASK, isStopped: null }]);
  });

  it("is nothing at a provider that cannot cancel, and nothing that is no longer waited for", async () => {
    const tasks = new AcceptedTasks();
    tasks.add(TASK, "a", scriptedProvider());
    tasks.add(
      TASK,
      "b",
      able(async () => true),
    )();
    expect([tasks.names, await tasks.stopAll(NEVER)]).toEqual([[], []]);
  });

  it("is a task that a Ctrl-C has left accepted, until it has ended", async () => {
    const stop = new AbortController();
    const world = await workWorld({ answer: async () => ({ outcome: "accepted", taskId: "theirs" }) });
    const asked: string[] = [];
    const accepted = new AcceptedTasks();
    Object.assign(world.provider, {
      poll: async () => {
        expect(accepted.names).toHaveLength(1);
        stop.abort(new InterruptedError("SIGINT"));
        return { outcome: "state", task: { status: "running", word: null } };
      },
      cancel: async (id: string) => asked.push(id) > 0,
    });
    Object.assign(world.deps, { accepted, signal: stop.signal });
    expect(await world.generate()).toMatchObject({ state: "accepted", error: { type: "interrupted" } });
    expect(await accepted.stopAll(NEVER)).toMatchObject([{ taskId: "task_1", isStopped: true }]);
    expect(asked).toEqual(["theirs"]);
  });
});
