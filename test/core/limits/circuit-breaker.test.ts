import { setMaxListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { AuthRequiredError } from "../../../src/api/api-errors.ts";
import { InterruptedError } from "../../../src/core/engine/errors.ts";
import { CircuitBreaker, type Ticket } from "../../../src/core/limits/circuit-breaker.ts";
import { fakeClock, steppedClock } from "../../support/fake-clock.ts";

const never = new AbortController().signal;
setMaxListeners(0, never);

function newBreaker(clock = steppedClock()) {
  const outages: boolean[] = [];
  const breaker = new CircuitBreaker({ clock, onOutage: ({ down }) => outages.push(down) });
  return { breaker, clock, outages };
}

const turn = () => new Promise(setImmediate);

/** Lets somebody in who must not have to wait. */
async function entered(breaker: CircuitBreaker): Promise<Ticket> {
  const ticket = await breaker.enter(never);
  if (ticket === null) throw new Error("not let in");
  return ticket;
}

/** Several who want to come in, and who of them is in by now. */
function crowd(breaker: CircuitBreaker, count: number) {
  const inside: (Ticket | null)[] = [];
  for (let each = 0; each < count; each++) void breaker.enter(never).then((ticket) => inside.push(ticket));
  return inside;
}

describe("while the service answers", () => {
  it("everybody is let through at once, refusals or not", async () => {
    const { breaker, outages } = newBreaker();
    const inside = crowd(breaker, 5);
    await turn();
    expect(inside).toHaveLength(5);
    breaker.answered();
    await entered(breaker);
    expect(outages).toEqual([]);
  });

  it("one lost submit, or two, stop no other; an answer between makes them no row", async () => {
    const { breaker, outages } = newBreaker();
    for (let round = 0; round < 3; round++) {
      for (let lost = 0; lost < 2; lost++) breaker.lost(await entered(breaker), "reset");
      breaker.answered();
    }
    expect(outages).toEqual([]);
  });
});

describe("while the service cannot be reached", () => {
  it("one at a time tries, and no other is let through", async () => {
    const { breaker, clock, outages } = newBreaker();
    breaker.unreachable(await entered(breaker), "refused");
    expect(outages).toEqual([true]);
    const inside = crowd(breaker, 5);
    await turn();
    expect(inside).toEqual([]);
    clock.advance(500);
    await turn();
    expect(inside).toHaveLength(1);
    clock.advance(60_000);
    await turn();
    expect(inside).toHaveLength(1);
  });

  it("failures of submits that were under way already cause no new try, and count as none", async () => {
    const { breaker, clock } = newBreaker();
    const tickets = await Promise.all(Array.from({ length: 8 }, () => entered(breaker)));
    const inside = crowd(breaker, 8);
    await turn();
    const [first, ...others] = tickets;
    breaker.unreachable(first as Ticket, "refused");
    const waiting = crowd(breaker, 8);
    await turn();
    for (const ticket of others) breaker.unreachable(ticket, "refused");
    await turn();
    clock.advance(500);
    await turn();
    expect(inside).toHaveLength(8);
    expect(waiting).toHaveLength(1);
    expect(clock.waits).toEqual([500]);
  });

  it("waits longer between tries, and goes on for 5 minutes where it has ever answered", async () => {
    const clock = fakeClock();
    const { breaker } = newBreaker(clock);
    breaker.answered();
    breaker.unreachable(await entered(breaker), "refused");
    for (;;) {
      const ticket = await breaker.enter(never);
      if (ticket === null) break;
      breaker.unreachable(ticket, "refused");
    }
    expect(clock.waits.slice(0, 6)).toEqual([500, 1000, 2000, 5000, 10_000, 10_000]);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(300_000);
    expect(clock.monotonicMs()).toBeLessThan(311_000);
  });

  it("gives up after some seconds where it has never answered: it is misspelled rather than down", async () => {
    const clock = fakeClock();
    const { breaker } = newBreaker(clock);
    breaker.unreachable(await entered(breaker), "no such host");
    for (let ticket = await breaker.enter(never); ticket; ticket = await breaker.enter(never))
      breaker.unreachable(ticket, "no such host");
    expect(clock.monotonicMs()).toBeLessThan(10_000);
    expect(await breaker.enter(never)).toBeNull();
  });

  it("all go on when it answers, and none waits out the rest of a pause", async () => {
    const { breaker, clock, outages } = newBreaker();
    const underWay = await entered(breaker);
    breaker.unreachable(await entered(breaker), "refused");
    const inside = crowd(breaker, 5);
    await turn();
    void underWay;
    breaker.answered();
    await turn();
    await turn();
    expect(inside).toHaveLength(5);
    expect(outages).toEqual([true, false]);
    expect(clock.monotonicMs()).toBe(0);
  });

  it("the next one tries if the one whose turn it was does not submit", async () => {
    const { breaker, clock } = newBreaker();
    breaker.unreachable(await entered(breaker), "refused");
    const inside = crowd(breaker, 2);
    await turn();
    clock.advance(500);
    await turn();
    breaker.withdrawn(inside[0] as Ticket);
    await turn();
    clock.advance(500);
    await turn();
    expect(inside).toHaveLength(2);
  });

  it("a signal ends the wait of all, and whose turn it was gives it back", async () => {
    const { breaker, clock } = newBreaker();
    breaker.unreachable(await entered(breaker), "refused");
    const controller = new AbortController();
    const stopped = breaker.enter(controller.signal);
    const alsoStopped = breaker.enter(controller.signal);
    await turn();
    const inside = crowd(breaker, 1);
    controller.abort(new InterruptedError("SIGINT"));
    await expect(stopped).rejects.toBeInstanceOf(InterruptedError);
    await expect(alsoStopped).rejects.toBeInstanceOf(InterruptedError);
    await turn();
    clock.advance(500);
    await turn();
    expect(inside).toHaveLength(1);
  });
});

describe("while submits are lost, each of which may have been charged", () => {
  async function down(under = 3) {
    const world = newBreaker(fakeClock());
    const tickets = await Promise.all(Array.from({ length: under }, () => entered(world.breaker)));
    for (const ticket of tickets) world.breaker.lost(ticket, "reset");
    return world;
  }

  it("the third in a row stops all; then five more are risked at the most, ever further apart", async () => {
    const { breaker, clock, outages } = await down();
    expect(outages).toEqual([true]);
    let risked = 0;
    for (let ticket = await breaker.enter(never); ticket; ticket = await breaker.enter(never)) {
      risked += 1;
      breaker.lost(ticket, "reset");
    }
    expect(risked).toBe(5);
    expect(clock.waits).toEqual([2000, 5000, 15_000, 30_000, 60_000]);
    expect(await breaker.enter(never)).toBeNull();
  });

  it("those that were under way when it went down do not use up the tries", async () => {
    const { breaker, clock } = await down(20);
    expect(await breaker.enter(never)).toEqual({ probe: true });
    expect(clock.waits).toEqual([2000]);
  });

  it("an answer ends it, and the next three lost in a row start over", async () => {
    const { breaker, outages } = await down();
    await entered(breaker);
    breaker.answered();
    for (let lost = 0; lost < 2; lost++) breaker.lost(await entered(breaker), "reset");
    expect(outages).toEqual([true, false]);
    breaker.lost(await entered(breaker), "reset");
    expect(outages).toEqual([true, false, true]);
  });

  it("an outage that cost nothing at first is a costly one from the first lost submit on", async () => {
    const clock = fakeClock();
    const { breaker } = newBreaker(clock);
    breaker.answered();
    breaker.unreachable(await entered(breaker), "refused");
    breaker.lost(await entered(breaker), "reset");
    let risked = 0;
    for (let ticket = await breaker.enter(never); ticket; ticket = await breaker.enter(never)) {
      risked += 1;
      breaker.lost(ticket, "reset");
    }
    expect(risked).toBe(4);
  });
});

describe("for a server", () => {
  const WAITS = { unsent: [1_000, 2_000], account: [30_000], lost: [2_000] };
  const newServerBreaker = () => {
    const clock = fakeClock();
    const outages: string[] = [];
    const onOutage = (outage: { down: true; why: string } | { down: false }) =>
      outages.push(outage.down ? outage.why : "over");
    return { breaker: new CircuitBreaker({ clock, onOutage, waits: WAITS }), clock, outages };
  };
  const refused = () => new AuthRequiredError("The key was refused.");

  it("attempts never end, with the last wait between them", async () => {
    const { breaker, clock } = newServerBreaker();
    breaker.unreachable(await entered(breaker), "refused");
    const waits: number[] = [];
    for (let each = 0; each < 5; each++) {
      const before = clock.monotonicMs();
      breaker.unreachable(await entered(breaker), "refused");
      waits.push(clock.monotonicMs() - before);
    }
    expect(waits).toEqual([1_000, 2_000, 2_000, 2_000, 2_000]);
  });

  it("a refused account is an outage that ends with an answer", async () => {
    const { breaker, clock, outages } = newServerBreaker();
    breaker.accountRefused(await entered(breaker), refused());
    expect(breaker.outage?.refusal?.message).toBe("The key was refused.");
    const before = clock.monotonicMs();
    await entered(breaker);
    expect(clock.monotonicMs() - before).toBe(30_000);
    breaker.answered();
    expect(breaker.outage).toBeNull();
    expect(outages).toEqual(["The key was refused.", "over"]);
  });

  it("a reason to try again ends the wait for a refused account, at the earliest five seconds later", async () => {
    const clock = steppedClock();
    const breaker = new CircuitBreaker({ clock, onOutage: () => {}, waits: WAITS });
    breaker.accountRefused(await entered(breaker), refused());
    const inside = crowd(breaker, 1);
    breaker.retryAccount();
    await turn();
    expect(inside).toEqual([]);
    clock.advance(5_000);
    breaker.retryAccount();
    await turn();
    expect(inside).toEqual([{ probe: true }]);
  });
});
