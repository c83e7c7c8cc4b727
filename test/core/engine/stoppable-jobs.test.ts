import { describe, expect, it } from "vitest";
import { StoppableJobs } from "../../../src/core/engine/stoppable-jobs.ts";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { type Answer, scriptedProvider } from "../../support/scripted-provider.ts";
import { workWorld } from "./work-world.ts";

const NEVER = new AbortController().signal;
const TASK = { taskId: "task_1", name: "comfy" };
const able = (cancel: () => Promise<boolean | null>) => ({ ...scriptedProvider(), cancel });
const answering = (answer: boolean | null) => able(async () => answer);

describe("what a second signal can stop", () => {
  it("is asked to stop, and what it answers is said", async () => {
    const jobs = new StoppableJobs();
    jobs.add(TASK, "a", answering(true));
    jobs.add({ ...TASK, taskId: "task_2" }, "b", answering(false));
    const closed = able(() => Promise.reject(new Error("closed")));
    jobs.add({ ...TASK, taskId: "task_3" }, "c", closed);
    expect(jobs.providerNames).toEqual(["comfy"]);
    expect((await jobs.stopAll(NEVER)).map(({ isStopped }) => isStopped)).toEqual([true, false, null]);
  });

  it.each([
    [[true, true], true],
    [[true, false], false],
    [[true, null], null],
  ] as const)("is one task with the requests that it has: %j is %s", async (answers, isStopped) => {
    const jobs = new StoppableJobs();
    for (const answer of answers) jobs.add(TASK, "a", answering(answer));
    expect(await jobs.stopAll(NEVER)).toEqual([{ ...TASK, isStopped }]);
  });

  it("is asked about together, however many tasks there are, without a warning of Node's", async () => {
    const jobs = new StoppableJobs();
    const cancel = (_id: string, signal?: AbortSignal) => {
      signal?.addEventListener("abort", () => {}, { once: true });
      return Promise.resolve(true);
    };
    for (let at = 0; at < 20; at++) jobs.add(TASK, "a", { ...scriptedProvider(), cancel });
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    await jobs.stopAll(AbortSignal.timeout(1_000));
    await new Promise((resolve) => setImmediate(resolve));
    process.removeListener("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("is given up when the time for that is over", async () => {
    const jobs = new StoppableJobs();
    const silent = able(() => new Promise(() => {}));
    jobs.add(TASK, "a", silent);
    expect(await jobs.stopAll(AbortSignal.timeout(20))).toEqual([{ ...TASK, isStopped: null }]);
    expect(await jobs.stopAll(AbortSignal.abort())).toEqual([{ ...TASK, isStopped: null }]);
  });

  it("is nothing at a provider that cannot cancel, and nothing that is no longer waited for", async () => {
    const jobs = new StoppableJobs();
    jobs.add(TASK, "a", scriptedProvider());
    jobs.add(TASK, "b", answering(true))();
    expect([jobs.providerNames, await jobs.stopAll(NEVER)]).toEqual([[], []]);
  });

  /** What a Ctrl-C during the wait for an accepted job leaves to be stopped. */
  async function leftAccepted(isPaid: boolean) {
    const stop = new AbortController();
    const answer: Answer = async () => ({ outcome: "accepted", taskId: "theirs" });
    const world = await workWorld({ answer, work: { isPaid } });
    const asked: string[] = [];
    const stoppable = new StoppableJobs();
    Object.assign(world.provider, {
      poll: async () => {
        expect(stoppable.providerNames).toHaveLength(isPaid ? 0 : 1);
        stop.abort(new InterruptedError("SIGINT"));
        return { outcome: "state", task: { status: "running", providerState: null } };
      },
      cancel: async (id: string) => asked.push(id) > 0,
    });
    Object.assign(world.deps, { stoppable, signal: stop.signal });
    expect(await world.generate()).toMatchObject({ state: "accepted", error: { type: "interrupted" } });
    return { stopped: await stoppable.stopAll(NEVER), asked };
  }

  it("is a free job that a Ctrl-C has left accepted, until it has ended", async () => {
    const { stopped, asked } = await leftAccepted(false);
    expect(stopped).toMatchObject([{ taskId: "task_1", isStopped: true }]);
    expect(asked).toEqual(["theirs"]);
  });

  it("is a free job that is accepted at the moment of a Ctrl-C", async () => {
    const stop = new AbortController();
    const answer: Answer = async () => {
      stop.abort(new InterruptedError("SIGINT"));
      return { outcome: "accepted", taskId: "theirs" };
    };
    const world = await workWorld({ answer, work: { isPaid: false } });
    Object.assign(world.provider, { poll: async () => expect.fail("polled"), cancel: async () => true });
    const offered: string[][] = [];
    const stoppable = new StoppableJobs(() => offered.push(stoppable.providerNames));
    Object.assign(world.deps, { stoppable, signal: stop.signal });
    expect(await world.generate()).toMatchObject({ state: "accepted", error: { type: "interrupted" } });
    expect(offered).toHaveLength(1);
    expect(await stoppable.stopAll(NEVER)).toMatchObject([{ taskId: "task_1", isStopped: true }]);
  });

  it("is no paid job: only the user's own command cancels one", async () => {
    expect(await leftAccepted(true)).toEqual({ stopped: [], asked: [] });
  });
});
