import { describe, expect, it } from "vitest";
import { TransportError } from "../../../src/api/transport.ts";
import { BudgetExceededError, InterruptedError } from "../../../src/core/engine/errors.ts";
import { Admission, AdmittedRequests } from "../../../src/core/limits/admission.ts";
import type { PollReply, Provider, SubmitReply } from "../../../src/providers/provider.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { HOW, jobFor } from "../../support/jobs.ts";

const JOB = jobFor({ prompt: "a fox", model: "z-image" });
const TAKEN: SubmitReply = { outcome: "accepted", taskId: "task-1" };
const LOST: SubmitReply = { outcome: "unknown", why: "reset", excerpt: null };
const RUNNING: PollReply = { outcome: "state", task: { status: "running", word: "processing" } };
const notSent = (): SubmitReply => ({
  outcome: "not_sent",
  cause: new TransportError("refused", { sent: false }),
});
const busy = (retryAfterMs: number | null): SubmitReply => ({
  outcome: "rate_limited",
  retryAfterMs,
  error: new BudgetExceededError("429"),
});
const never = () => new AbortController().signal;

/** An admission before a service that answers as it is told, in turn; the last answer stays. */
function newGate(submits: SubmitReply[], polls: PollReply[] = [RUNNING]) {
  const clock = fakeClock();
  const sentAtMs: number[] = [];
  const outages: boolean[] = [];
  const next = <Reply>(replies: Reply[]) => (replies.length > 1 ? replies.shift() : replies[0]) as Reply;
  const service: Provider = {
    version: 1,
    limits: { concurrency: null, submitMs: 120_000 },
    async close() {},
    async submit() {
      sentAtMs.push(clock.monotonicMs());
      return next(submits);
    },
    async poll() {
      sentAtMs.push(clock.monotonicMs());
      return next(polls);
    },
  };
  const admission = new Admission(service, {
    clock,
    random: () => 0,
    onOutage: ({ down }) => outages.push(down),
  });
  return { admission, clock, sentAtMs, outages };
}

async function admitted(admission: Admission): Promise<AdmittedRequests> {
  const pass = await admission.admit(never());
  if (pass === null) throw new Error("not admitted");
  return pass;
}

describe("a pass through the admission", () => {
  it("submits at once, and its place is given back after it", async () => {
    const { admission, sentAtMs } = newGate([TAKEN]);
    const pass = await admitted(admission);
    expect(await pass.submit(JOB, HOW)).toEqual(TAKEN);
    pass.release();
    expect(sentAtMs).toEqual([0]);
  });

  it("gives its place back where nothing was submitted, once however often it is released", async () => {
    const { admission } = newGate([busy(null), TAKEN]);
    await (await admitted(admission)).submit(JOB, HOW);
    // One at a time from here on.
    const unused = await admitted(admission);
    unused.release();
    unused.release();
    const used = await admitted(admission);
    let isIn = false;
    void admission.admit(never()).then(() => {
      isIn = true;
    });
    await new Promise(setImmediate);
    expect(isIn).toBe(false);
    await used.submit(JOB, HOW);
    await new Promise(setImmediate);
    expect(isIn).toBe(true);
  });

  it("is no way to send while the service is down: who is admitted next tries, after longer and longer waits", async () => {
    const { admission, sentAtMs, outages } = newGate([notSent(), notSent(), notSent(), TAKEN]);
    const first = await admitted(admission);
    expect(await first.submit(JOB, HOW)).toMatchObject({ outcome: "not_sent" });
    expect(await first.submit(JOB, HOW)).toMatchObject({ outcome: "not_sent" });
    for (let tries = 0; tries < 2; tries++) await (await admitted(admission)).submit(JOB, HOW);
    expect(await (await admitted(admission)).submit(JOB, HOW)).toEqual(TAKEN);
    expect(sentAtMs).toEqual([0, 500, 1500, 3500]);
    expect(outages).toEqual([true, false]);
  });

  it("downloads with the headers that its provider's own origin asks for", async () => {
    const { admission } = newGate([TAKEN]);
    expect((await admitted(admission)).downloadHeaders).toEqual({});
    const downloadHeaders = { authorization: "Bearer key" };
    const own = new Admission(
      { ...admission.provider, downloadHeaders },
      { clock: fakeClock(), random: () => 0, onOutage: () => {} },
    );
    expect(new AdmittedRequests(own, null).downloadHeaders).toBe(downloadHeaders);
  });

  it("can stop what it has accepted where its provider can, and says that it cannot where that cannot", async () => {
    const { admission } = newGate([TAKEN]);
    expect((await admitted(admission)).cancel).toBeUndefined();
    const own = new Admission(
      { ...admission.provider, cancel: async (taskId) => taskId === "task-1" },
      { clock: fakeClock(), random: () => 0, onOutage: () => {} },
    );
    expect(await new AdmittedRequests(own, null).cancel?.("task-1", never())).toBe(true);
  });

  it("has a row wait for its place at a provider that has only so many", async () => {
    const { admission } = newGate([TAKEN]);
    expect((await admitted(admission)).place).toBeUndefined();
    const leave = () => {};
    const own = new Admission(
      { ...admission.provider, place: async () => leave },
      { clock: fakeClock(), random: () => 0, onOutage: () => {} },
    );
    expect(await new AdmittedRequests(own, null).place?.({ signal: never(), onWait: () => {} })).toBe(leave);
  });

  it("never sends again what may have arrived", async () => {
    const { admission, sentAtMs } = newGate([LOST, TAKEN]);
    expect(await (await admitted(admission)).submit(JOB, HOW)).toEqual(LOST);
    expect(sentAtMs).toHaveLength(1);
  });

  it("gives up with what was never sent where the service stays away", async () => {
    const { admission, sentAtMs } = newGate([notSent()]);
    for (let pass = await admission.admit(never()); pass; pass = await admission.admit(never()))
      expect(await pass.submit(JOB, HOW)).toMatchObject({ outcome: "not_sent" });
    expect(sentAtMs.length).toBeGreaterThanOrEqual(4);
  });

  it("waits for all where one was answered 429, be it a poll", async () => {
    const poll: PollReply = {
      outcome: "retry",
      why: "busy",
      rateLimited: true,
      retryAfterMs: 4000,
      connectionError: null,
    };
    const { admission, sentAtMs } = newGate([TAKEN], [poll, RUNNING]);
    await new AdmittedRequests(admission, null).poll("task-1", 60_000, never());
    await new AdmittedRequests(admission, null).poll("task-2", 60_000, never());
    await (await admitted(admission)).submit(JOB, HOW);
    expect(sentAtMs).toEqual([0, 4000, 4000]);
  });

  it("polls no task whose wait would be over by then, and says how long it would take", async () => {
    const { admission, sentAtMs } = newGate([busy(60_000)]);
    await (await admitted(admission)).submit(JOB, HOW);
    expect(await new AdmittedRequests(admission, null).poll("task-1", 5000, never())).toMatchObject({
      outcome: "retry",
      rateLimited: true,
      retryAfterMs: 60_000,
    });
    expect(sentAtMs).toHaveLength(1);
  });

  it("ends the wait with a signal: what was never sent is not sent any more", async () => {
    const { admission, sentAtMs } = newGate([notSent(), TAKEN]);
    const controller = new AbortController();
    const pass = await admitted(admission);
    controller.abort(new InterruptedError("SIGINT"));
    expect(await pass.submit(JOB, { ...HOW, signal: controller.signal })).toMatchObject({
      outcome: "not_sent",
    });
    expect(sentAtMs).toEqual([]);
    pass.release();
    await expect(admission.admit(never())).resolves.not.toBeNull();
  });
});

describe("an admission that was stopped", () => {
  it("lets no request through any more, with the first reason, and polls go on", async () => {
    const { admission, sentAtMs } = newGate([TAKEN]);
    const first = new BudgetExceededError("first");
    admission.stop(first);
    admission.stop(new BudgetExceededError("second"));
    expect(admission.stopped).toBe(first);
    expect(await admission.admit(never())).toBeNull();
    expect(await new AdmittedRequests(admission, null).poll("task-1", undefined, never())).toEqual(RUNNING);
    expect(sentAtMs).toHaveLength(1);
  });

  it("turns away those who were waiting at it", async () => {
    const { admission } = newGate([busy(null), TAKEN]);
    await (await admitted(admission)).submit(JOB, HOW);
    const used = await admitted(admission);
    const waiting = admission.admit(never());
    admission.stop(new BudgetExceededError("first"));
    used.release();
    expect(await waiting).toBeNull();
    const another = admission.rateLimiter.enter(never());
    await expect(another).resolves.toBeUndefined();
  });
});
