import { setMaxListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { AuthRequiredError, RejectedRequestError } from "../../../src/api/api-errors.ts";
import { TransportError } from "../../../src/api/transport.ts";
import { BudgetExceededError, CancelledError } from "../../../src/core/errors.ts";
import { Gate, type GateDeps, type Pass } from "../../../src/core/limits/gate.ts";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { failedPoll } from "../../../src/providers/failures.ts";
import { type PollReply, type SubmitReply, TimeLimitError } from "../../../src/providers/provider.ts";
import { fakeClock, steppedClock } from "../../support/fake-clock.ts";

const never = new AbortController().signal;
setMaxListeners(0, never);

const ACCEPTED: SubmitReply = { outcome: "accepted", taskId: "task-1" };
const LOST: SubmitReply = { outcome: "unknown", why: "reset", excerpt: null };
const REFUSED: SubmitReply = { outcome: "refused", error: new RejectedRequestError("no such model") };
const ACCOUNT: SubmitReply = { outcome: "refused", error: new AuthRequiredError("The key was refused.") };
const UNSENT: SubmitReply = { outcome: "not_sent", cause: new TransportError("refused", { wasSent: false }) };
const busy = (retryAfterMs: number | null = null): SubmitReply => ({
  outcome: "rate_limited",
  retryAfterMs,
  error: new BudgetExceededError("429"),
});

/** A gate whose clock stands still until it is moved, by default. */
function newGate(clock = steppedClock(), deps: Partial<GateDeps> = {}) {
  const outages: string[] = [];
  const pauses: number[] = [];
  const gate = new Gate({
    clock,
    random: () => 0,
    onOutage: (outage) => outages.push(outage.down ? outage.why : "over"),
    onPause: (ms) => pauses.push(ms),
    ...deps,
  });
  return { gate, clock, outages, pauses };
}

const turn = () => new Promise(setImmediate);

/** Lets time pass, before which and after which everything runs that can. */
async function passed(clock: { advance(ms: number): void }, ms: number): Promise<void> {
  await turn();
  clock.advance(ms);
  await turn();
}

/** A pass that needs no wait, or only waits that take no time. */
async function entered(gate: Gate): Promise<Pass> {
  const pass = await gate.enter(never);
  if (pass === null) throw new Error("given up");
  return pass;
}

let requests = 0;
/** Ends an attempt of a request of its own, unless it is named. */
function end(gate: Gate, pass: Pass, reply: SubmitReply, key = `request ${requests++}`, signal = never) {
  gate.report(pass, reply, signal, key);
  gate.leave(pass);
}

async function attempt(gate: Gate, reply: SubmitReply, key?: string): Promise<void> {
  end(gate, await entered(gate), reply, key);
}

/** Attempts until the gate gives up. @returns their number */
async function attemptAll(gate: Gate, reply: SubmitReply): Promise<number> {
  for (let count = 0; ; count++) {
    const pass = await gate.enter(never);
    if (pass === null) return count;
    end(gate, pass, reply);
  }
}

/** Several that enter, as those of them that have entered or were turned away. */
function crowd(gate: Gate, count: number, signal = never): (Pass | null)[] {
  const inside: (Pass | null)[] = [];
  for (let each = 0; each < count; each++)
    void gate.enter(signal).then(
      (pass) => inside.push(pass),
      () => {},
    );
  return inside;
}

describe("while the provider answers", () => {
  it("all requests enter at once, whether others are refused or not", async () => {
    const { gate, outages, clock } = newGate();
    for (let each = 0; each < 5; each++) await attempt(gate, REFUSED);
    const inside = crowd(gate, 50);
    await turn();
    expect(inside).toHaveLength(50);
    expect(clock.waits).toEqual([]);
    expect(outages).toEqual([]);
  });

  it("one request that is always lost is no outage, however often", async () => {
    const { gate, outages } = newGate();
    for (let each = 0; each < 10; each++) await attempt(gate, LOST, "a bad prompt");
    expect(outages).toEqual([]);
    await attempt(gate, LOST, "another");
    expect(outages).toEqual(["reset"]);
  });

  it("a pass counts once, however often it is returned", async () => {
    const { gate } = newGate();
    await attempt(gate, busy());
    const unused = await entered(gate);
    gate.leave(unused);
    gate.leave(unused);
    const used = await entered(gate);
    const inside = crowd(gate, 1);
    await turn();
    expect(inside).toEqual([]);
    gate.leave(used);
    await turn();
    expect(inside).toHaveLength(1);
  });
});

describe("after a 429", () => {
  it("nobody enters until the time that was asked for is over", async () => {
    const { gate, clock, pauses } = newGate();
    await attempt(gate, busy(5000));
    const inside = crowd(gate, 1);
    await passed(clock, 4999);
    expect(inside).toEqual([]);
    await passed(clock, 1);
    expect(inside).toHaveLength(1);
    expect(pauses).toEqual([5000]);
  });

  it("the longest of several times counts, also for those that wait already", async () => {
    const { gate, clock } = newGate();
    const passes = [await entered(gate), await entered(gate), await entered(gate)];
    end(gate, passes[0] as Pass, busy(1000));
    const early = passes[1] as Pass;
    const inside = crowd(gate, 1);
    end(gate, early, busy(3000));
    end(gate, passes[2] as Pass, busy(500));
    await passed(clock, 2999);
    expect(inside).toEqual([]);
    await passed(clock, 1);
    expect(inside).toHaveLength(1);
  });

  it("pauses are longer with each in a row that asks for no time, and short again after a success", async () => {
    const { gate, pauses } = newGate(fakeClock(), { random: () => 1 });
    for (const reply of [busy(), busy(), busy(), ACCEPTED, busy()]) await attempt(gate, reply);
    expect(pauses).toEqual([1000, 2000, 4000, 1000]);
  });

  it("half as many are in flight, one at least, and one more with each success", async () => {
    const { gate } = newGate();
    const passes = await Promise.all(Array.from({ length: 8 }, () => entered(gate)));
    gate.report(passes[0] as Pass, busy(), never, "a");
    for (const pass of passes) gate.leave(pass);
    const inside = crowd(gate, 8);
    await turn();
    expect(inside).toHaveLength(4);
    for (let each = 0; each < 9; each++) gate.report(inside[0] as Pass, busy(), never, "a");
    for (const pass of inside.splice(0)) gate.leave(pass as Pass);
    await turn();
    expect(inside).toHaveLength(1);
    gate.report(inside[0] as Pass, ACCEPTED, never, "a");
    await turn();
    expect(inside).toHaveLength(2);
    gate.leave(inside[0] as Pass);
    await turn();
    expect(inside).toHaveLength(3);
  });

  it("a signal ends the wait for the time, and the next takes the place", async () => {
    const { gate, clock } = newGate();
    await attempt(gate, busy(1000));
    const controller = new AbortController();
    const stopped = gate.enter(controller.signal);
    const inside = crowd(gate, 1);
    await turn();
    controller.abort(new InterruptedError("SIGINT"));
    await expect(stopped).rejects.toBeInstanceOf(InterruptedError);
    await passed(clock, 1000);
    expect(inside).toHaveLength(1);
  });

  it("a run is stopped if the time is longer than it waits, 180 s by default; a server is not", async () => {
    const { gate } = newGate();
    await attempt(gate, busy(180_001));
    expect(gate.stopped).toMatchObject({ type: "service_error", charged: "no" });
    expect(await gate.enter(never)).toBeNull();
    const patient = newGate(fakeClock());
    const pass = await entered(patient.gate);
    patient.gate.report(pass, busy(600_000), never, "request", 600_000);
    patient.gate.leave(pass);
    await attempt(patient.gate, ACCEPTED);
    const server = newGate(fakeClock(), { waits: { unsent: [1], lost: [1], account: [1] } });
    await attempt(server.gate, busy(3_600_000));
    await attempt(server.gate, ACCEPTED);
    expect(server.clock.waits).toEqual([3_600_000]);
  });
});

describe("polls that do not reach the provider", () => {
  const cut = failedPoll("the connection was refused", { connectionError: new Error("refused") });
  const busyPoll = failedPoll("HTTP 503");

  it("are an outage once none has for 5 s, said once, and over with the next answer", async () => {
    const { gate, clock, outages } = newGate();
    const poll = (reply: PollReply) => gate.poll(async () => reply, undefined, never);
    for (const [ms, reply] of [
      [4_999, cut],
      [4_999, busyPoll],
      [4_999, cut],
      [1, cut],
    ] as const) {
      await poll(reply);
      clock.advance(ms);
    }
    expect(outages).toEqual([]);
    await poll(cut);
    clock.advance(60_000);
    await poll(cut);
    expect(outages).toEqual(["the connection was refused"]);
    await poll(busyPoll);
    expect(outages).toEqual(["the connection was refused", "over"]);
  });

  it("are not said beside an outage of submits", async () => {
    const { gate, clock, outages } = newGate();
    await attempt(gate, UNSENT);
    await gate.poll(async () => cut, undefined, never);
    clock.advance(60_000);
    await gate.poll(async () => cut, undefined, never);
    expect(outages).toHaveLength(1);
  });
});

describe("while nothing can be sent", () => {
  it("one request at a time is tried, and no other enters", async () => {
    const { gate, clock, outages } = newGate();
    await attempt(gate, UNSENT);
    expect(outages).toEqual([expect.stringContaining("refused")]);
    expect(gate.outage).toMatchObject({ kind: "unsent" });
    const inside = crowd(gate, 5);
    await turn();
    expect(inside).toEqual([]);
    await passed(clock, 500);
    expect(inside).toEqual([{ isProbe: true }]);
    await passed(clock, 60_000);
    expect(inside).toHaveLength(1);
  });

  it("failures of submits that were in flight cause no other try, and count as none", async () => {
    const { gate, clock } = newGate();
    const passes = await Promise.all(Array.from({ length: 8 }, () => entered(gate)));
    end(gate, passes[0] as Pass, UNSENT);
    const waiting = crowd(gate, 8);
    await turn();
    for (const pass of passes.slice(1)) end(gate, pass, UNSENT);
    await passed(clock, 500);
    expect(waiting).toHaveLength(1);
    expect(clock.waits).toEqual([500]);
  });

  it("waits are longer and longer, for 5 minutes if the provider has ever answered", async () => {
    const { gate, clock } = newGate(fakeClock());
    await attempt(gate, ACCEPTED);
    await attemptAll(gate, UNSENT);
    expect(clock.waits.slice(0, 6)).toEqual([500, 1000, 2000, 5000, 10_000, 10_000]);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(300_000);
    expect(clock.monotonicMs()).toBeLessThan(311_000);
  });

  it("is given up after some seconds if it never has, after three probes at least: its address is wrong", async () => {
    const { gate, clock } = newGate(fakeClock());
    expect(await attemptAll(gate, UNSENT)).toBeGreaterThanOrEqual(4);
    expect(clock.monotonicMs()).toBeLessThan(10_000);
    expect(await gate.enter(never)).toBeNull();
    const slow = newGate(fakeClock());
    await attempt(slow.gate, UNSENT);
    for (let each = 0; each < 3; each++) {
      const pass = await entered(slow.gate);
      slow.clock.advance(10_000);
      end(slow.gate, pass, UNSENT);
    }
    expect(await slow.gate.enter(never)).toBeNull();
  });

  it("all go on when it answers, and none waits out the rest of a wait", async () => {
    const { gate, clock, outages } = newGate();
    const inFlight = await entered(gate);
    await attempt(gate, UNSENT);
    const inside = crowd(gate, 5);
    await turn();
    end(gate, inFlight, ACCEPTED);
    await turn();
    expect(inside).toHaveLength(5);
    expect(outages.at(-1)).toBe("over");
    expect(clock.monotonicMs()).toBe(0);
  });

  it("a probe of an outage that is over is none of the next one", async () => {
    const { gate } = newGate();
    const inFlight = [await entered(gate), await entered(gate)];
    await attempt(gate, UNSENT);
    const inside = crowd(gate, 1);
    await turn();
    end(gate, inFlight[0] as Pass, ACCEPTED);
    await turn();
    const late = inside[0] as Pass;
    expect(gate.check(late, never)).toBe(true);
    end(gate, inFlight[1] as Pass, UNSENT);
    expect(gate.check(late, never)).toBe(false);
  });

  it("the next one tries if the one that should does not submit", async () => {
    const { gate, clock } = newGate();
    await attempt(gate, UNSENT);
    const inside = crowd(gate, 2);
    await passed(clock, 500);
    gate.leave(inside[0] as Pass);
    await passed(clock, 500);
    expect(inside).toHaveLength(2);
  });

  it("a signal ends the wait of all, and another one tries", async () => {
    const { gate, clock } = newGate();
    await attempt(gate, UNSENT);
    const controller = new AbortController();
    const stopped = [gate.enter(controller.signal), gate.enter(controller.signal)];
    await turn();
    const inside = crowd(gate, 1);
    controller.abort(new InterruptedError("SIGINT"));
    for (const each of stopped) await expect(each).rejects.toBeInstanceOf(InterruptedError);
    await passed(clock, 500);
    expect(inside).toHaveLength(1);
  });

  it("is no outage if waiting would not help, or if a signal kept the request from being sent", async () => {
    const { gate, outages } = newGate();
    const cause = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
    await attempt(gate, { outcome: "not_sent", cause: new TransportError("x", { wasSent: false, cause }) });
    const signal = AbortSignal.abort(new CancelledError());
    end(gate, await entered(gate), UNSENT, "a", signal);
    expect(outages).toEqual([]);
  });

  it("is one after a time limit, which says that nothing was sent in that time", async () => {
    const { gate, outages } = newGate();
    end(gate, await entered(gate), UNSENT, "a", AbortSignal.abort(new TimeLimitError("over")));
    expect(outages).toHaveLength(1);
  });
});

describe("while submits are lost, each of which may have been charged", () => {
  async function lost(inFlight = 3) {
    const world = newGate(fakeClock());
    const passes = await Promise.all(Array.from({ length: inFlight }, () => entered(world.gate)));
    for (const pass of passes) end(world.gate, pass, LOST);
    return world;
  }

  it("the third in a row holds back all; then five more are risked at the most, ever further apart", async () => {
    const { gate, clock, outages } = await lost();
    expect(outages).toEqual(["reset"]);
    expect(await attemptAll(gate, LOST)).toBe(5);
    expect(clock.waits).toEqual([2000, 5000, 15_000, 30_000, 60_000]);
    expect(await gate.enter(never)).toBeNull();
    expect(gate.outage).toMatchObject({ kind: "lost", why: "reset" });
  });

  it("those that were in flight when it began do not use up the probes", async () => {
    const { gate, clock } = await lost(20);
    expect(await gate.enter(never)).toEqual({ isProbe: true });
    expect(clock.waits).toEqual([2000]);
  });

  it("an answer ends it, and the next three lost in a row begin another", async () => {
    const { gate, outages } = await lost();
    await attempt(gate, ACCEPTED);
    await attempt(gate, LOST);
    await attempt(gate, LOST);
    expect(outages).toEqual(["reset", "over"]);
    await attempt(gate, LOST);
    expect(outages).toEqual(["reset", "over", "reset"]);
  });

  it("an outage that cost nothing at first is a costly one from the first lost submit on", async () => {
    const { gate } = newGate(fakeClock());
    await attempt(gate, ACCEPTED);
    await attempt(gate, UNSENT);
    await attempt(gate, LOST);
    await attempt(gate, UNSENT);
    expect(gate.outage?.kind).toBe("lost");
    expect(await attemptAll(gate, LOST)).toBe(3);
  });

  it("those that were not waited for after a signal do not count", async () => {
    const { gate, outages } = newGate();
    const signal = AbortSignal.abort(new InterruptedError("SIGINT"));
    for (let each = 0; each < 4; each++) end(gate, await entered(gate), LOST, undefined, signal);
    expect(outages).toEqual([]);
  });
});

describe("after the wait for a turn, a pass", () => {
  it("is not once an outage has begun, unless it is the probe", async () => {
    const { gate } = newGate(fakeClock());
    const pass = await entered(gate);
    await attempt(gate, UNSENT);
    expect([gate.isStale(pass), gate.check(pass, never)]).toEqual([true, false]);
    gate.leave(pass);
    expect(gate.check(await entered(gate), never)).toBe(true);
  });

  it("is not before the time of a 429 is over, nor after a signal", async () => {
    const { gate, clock } = newGate();
    const pass = await entered(gate);
    await attempt(gate, busy(1000));
    expect(gate.check(pass, never)).toBe(false);
    clock.advance(1000);
    expect(gate.check(pass, never)).toBe(true);
    expect(gate.check(pass, AbortSignal.abort())).toBe(false);
  });

  it("is not once the account was refused, before the turn of that request is released", async () => {
    const { gate } = newGate();
    const [first, next] = [await entered(gate), await entered(gate)];
    gate.report(first, ACCOUNT, never, "a");
    expect(gate.stopped?.message).toBe("The key was refused.");
    expect(gate.check(next, never)).toBe(false);
    expect(await gate.enter(never)).toBeNull();
  });
});

describe("a gate that was stopped", () => {
  it("lets no request enter, with the first reason", async () => {
    const { gate } = newGate();
    const first = new BudgetExceededError("first");
    gate.stop(first);
    gate.stop(new BudgetExceededError("second"));
    expect(gate.stopped).toBe(first);
    expect(await gate.enter(never)).toBeNull();
  });

  it("turns away all that wait: for a place, for the time of a 429, and for the next probe", async () => {
    for (const reply of [busy(60_000), UNSENT]) {
      const { gate } = newGate();
      await attempt(gate, reply);
      const inside = crowd(gate, 3);
      await turn();
      gate.stop(new BudgetExceededError("first"));
      await turn();
      expect(inside).toEqual([null, null, null]);
    }
  });
});

describe("for a server", () => {
  const waits = { unsent: [1_000, 2_000], account: [30_000, 60_000], lost: [2_000] };

  it("attempts never end, with the last wait between them", async () => {
    for (const [reply, expected] of [
      [UNSENT, [1_000, 2_000, 2_000, 2_000, 2_000]],
      [ACCOUNT, [30_000, 60_000, 60_000, 60_000, 60_000]],
    ] as const) {
      const { gate, clock } = newGate(fakeClock(), { waits });
      for (let each = 0; each < 6; each++) await attempt(gate, reply);
      expect(clock.waits).toEqual(expected);
    }
  });

  it("what lasts is an outage too", async () => {
    const { gate, outages } = newGate(fakeClock(), { waits });
    const cause = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
    await attempt(gate, { outcome: "not_sent", cause: new TransportError("x", { wasSent: false, cause }) });
    expect(outages).toHaveLength(1);
  });

  it("a refused account is an outage that ends with an answer, and stops nothing", async () => {
    const { gate, outages } = newGate(fakeClock(), { waits });
    await attempt(gate, ACCOUNT);
    expect(gate.outage).toMatchObject({ kind: "account", refusal: { message: "The key was refused." } });
    await attempt(gate, ACCOUNT);
    await attempt(gate, { outcome: "refused", error: new AuthRequiredError("Another reason.") });
    await attempt(gate, ACCEPTED);
    expect([gate.outage, gate.stopped]).toEqual([null, null]);
    expect(outages).toEqual(["The key was refused.", "Another reason.", "over"]);
  });

  it("a reason to try again ends the wait for a refused account, at the earliest five seconds later", async () => {
    const { gate, clock } = newGate(steppedClock(), { waits });
    await attempt(gate, ACCOUNT);
    const inside = crowd(gate, 2);
    gate.retry();
    await turn();
    expect(inside).toEqual([]);
    clock.advance(5_000);
    gate.retry();
    await turn();
    expect(inside).toEqual([{ isProbe: true }]);
  });
});
