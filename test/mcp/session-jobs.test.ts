import { describe, expect, it } from "vitest";
import type { TaskSuccess } from "../../src/client/results.ts";
import { type Call, Jobs } from "../../src/mcp/session-jobs.ts";
import { failed, SAVED } from "./task-ends.ts";

/** Work that ends when it is told to, or when it is stopped. */
function work() {
  let [save, fail, begin]: [() => void, (error: unknown) => void, (call: Call) => void] = [
    () => {},
    () => {},
    () => {},
  ];
  const end = new Promise<TaskSuccess>((resolve, reject) => {
    save = () => resolve(SAVED);
    fail = reject;
  });
  const begun = new Promise<Call>((resolve) => (begin = resolve));
  const run = (call: Call) => {
    begin(call);
    call.signal.addEventListener("abort", () => fail(call.signal.reason));
    return end;
  };
  return { run, begun, save: () => save(), fail: (error: unknown) => fail(error) };
}

/** A call of a tool, which can be cancelled. */
function call() {
  const cancelling = new AbortController();
  const told: string[] = [];
  const waiting: Call = { signal: cancelling.signal, onProgress: ({ type }) => told.push(type) };
  return { ...waiting, told, cancel: () => cancelling.abort() };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a job", () => {
  it("is stopped once all of its calls are cancelled, and not before", async () => {
    const [jobs, calls] = [new Jobs(), [call(), call()]];
    const job = jobs.start("fox", work().run);
    await settled();
    for (const each of calls) job.join(each);
    calls[0]?.cancel();
    expect(job.isStopped).toBe(false);
    calls[1]?.cancel();
    expect(job.isStopped).toBe(true);
    await expect(job.result).rejects.toThrow("The call was aborted.");
  });

  it("goes on where one of its calls was answered before the others were cancelled", () => {
    const [first, second] = [call(), call()];
    const job = new Jobs().start("fox", work().run);
    const leave = job.join(first);
    job.join(second);
    leave();
    first.cancel();
    second.cancel();
    expect(job.isStopped).toBe(false);
  });

  it("is stopped by a call that was cancelled before it joined", () => {
    const late = call();
    late.cancel();
    const job = new Jobs().start("fox", work().run);
    job.join(late);
    expect(job.isStopped).toBe(true);
  });

  it("tells each call that waits for it how it is getting on, and is found by its task's id from then", async () => {
    const [jobs, fox, one, other] = [new Jobs(), work(), call(), call()];
    const job = jobs.start("fox", fox.run);
    const leave = job.join(one);
    job.join(other);
    const { onProgress } = await fox.begun;
    onProgress({ type: "submitting" });
    expect(jobs.findByTask("task-1")).toBeUndefined();
    leave();
    onProgress({ type: "accepted", taskId: "task-1", request: 0 });
    expect([one.told, other.told]).toEqual([["submitting"], ["submitting", "accepted"]]);
    expect(jobs.findByTask("task-1")).toBe(job);
  });
});

describe("a session's jobs", () => {
  it("are found by what was asked for, until they end or are being stopped", async () => {
    const [jobs, fox, asking] = [new Jobs(), work(), call()];
    const job = jobs.start("fox", fox.run);
    expect([jobs.findByKey("fox"), jobs.findByKey("owl")]).toEqual([job, undefined]);
    fox.save();
    await job.result;
    expect(jobs.active).toEqual([]);
    jobs.start("owl", work().run).join(asking);
    asking.cancel();
    expect(jobs.findByKey("owl")).toBeUndefined();
  });

  it("begin again only once the stopped one of the same key has ended, which can be waited for", async () => {
    const [jobs, first, second, other, asking] = [new Jobs(), work(), work(), work(), call()];
    const steps: string[] = [];
    let end = () => {};
    const stopping = async (shared: Call) => {
      await first.run(shared).catch(() => new Promise<void>((resolve) => (end = resolve)));
      steps.push("ended");
      return SAVED;
    };
    jobs.start("fox", stopping).join(asking);
    await first.begun;
    asking.cancel();
    jobs.start("fox", second.run);
    jobs.start("owl", other.run);
    const begun = second.begun.then(() => steps.push("begun again"));
    const stopped = jobs.waitUntilStopped().then(() => steps.push("none is being stopped"));
    await other.begun;
    await settled();
    expect(steps).toEqual([]);
    end();
    await Promise.all([begun, stopped]);
    expect(steps[0]).toBe("ended");
  });

  it.each([
    ["is saved", (fox: ReturnType<typeof work>) => fox.save(), "task-1"],
    [
      "can be resumed",
      (fox: ReturnType<typeof work>) => fox.fail(failed({ charged: "no", resume: "imggen resume" })),
      "task-1",
    ],
    ["may have been charged", (fox: ReturnType<typeof work>) => fox.fail(failed()), "task-1"],
    ["was free", (fox: ReturnType<typeof work>) => fox.fail(failed({ charged: "no" })), undefined],
    ["ended otherwise", (fox: ReturnType<typeof work>) => fox.fail(new Error("odd")), undefined],
  ])("that have ended name the task of a request where it %s", async (_what, end, expected) => {
    const [jobs, fox] = [new Jobs(), work()];
    const job = jobs.start("fox", fox.run);
    end(fox);
    await job.result.catch(() => {});
    expect(jobs.chargedTaskId("fox")).toBe(expected);
  });
});
