import { describe, expect, it } from "vitest";
import { PollingSchedules } from "../../../src/core/polling/choose-schedule.ts";
import {
  defaultSchedule,
  expectedSchedule,
  type PollingSchedule,
} from "../../../src/core/polling/fixed-schedules.ts";
import { learnedSchedule } from "../../../src/core/polling/learned-schedule.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import type { GenerationRequest } from "../../../src/task/request.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { ledgerWorld, leftTask } from "../../support/ledger-world.ts";
import { INTENT, LINES } from "../../support/records.ts";
import { pollTimes } from "../../support/simulated-tasks.ts";
import { someProcesses } from "../../support/some-processes.ts";

const FOX: GenerationRequest = { prompt: "a fox", model: "gamma-image-2" };
const SEEN = { seenMs: 41_000, pendingMs: 40_000 };
const { accepted, completed, saved } = LINES;

async function newLedger() {
  const { ledger, clock, state } = await ledgerWorld();
  /** Finished tasks, seen to complete at these times. */
  const remember = async (
    request: GenerationRequest,
    ...sightings: { seenMs: number | null; pendingMs: number | null }[]
  ) => {
    for (const sighting of sightings)
      await leftTask(ledger, { request }, accepted, { ...completed, ...sighting }, saved);
  };
  return { ledger, clock, remember, schedules: new PollingSchedules(ledger, INTENT.service), state };
}

const polls = (schedule: PollingSchedule) => pollTimes(schedule, 90_000);
const many = (count: number) => Array.from({ length: count }, () => SEEN);

describe("the schedule of a request", () => {
  it("is that of the service's own duration where that is known, whatever the history says", async () => {
    const { ledger, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const schedules = new PollingSchedules(ledger, INTENT.service, 600);
    for (const request of [FOX, null])
      expect(polls(await schedules.forRequest(request))).toEqual(polls(expectedSchedule(600)));
  });

  it("comes with how long such tasks usually take, which is not known without any that ended", async () => {
    const { ledger, schedules, remember } = await newLedger();
    expect(await schedules.getUsualMs(FOX)).toBeNull();
    await remember(
      FOX,
      { pendingMs: 8000, seenMs: 10_000 },
      { pendingMs: 1000, seenMs: 2000 },
      { pendingMs: 60_000, seenMs: 61_000 },
    );
    const later = new PollingSchedules(ledger, INTENT.service);
    expect(await later.getUsualMs(FOX)).toBe(9000);
    expect(await later.getUsualMs({ ...FOX, quality: "2K" })).toBeNull();
    expect(await later.getUsualMs(null)).toBeNull();
    expect(await new PollingSchedules(ledger, INTENT.service, 600).getUsualMs(FOX)).toBe(600);
  });

  it("is the automatic one where the request is not known", async () => {
    const { schedules, remember } = await newLedger();
    await remember(FOX, ...many(20));
    expect(await schedules.forRequest(null)).toBe(defaultSchedule);
  });

  it("is what this machine's own tasks of its model and quality have taught", async () => {
    const { schedules, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const learned = polls(learnedSchedule(many(20)));
    expect(polls(await schedules.forRequest({ ...FOX, prompt: "a hen", ratio: "1:1" }))).toEqual(learned);
    const none = polls(learnedSchedule([]));
    expect(learned).not.toEqual(none);
    expect(polls(await schedules.forRequest({ ...FOX, quality: "2K" }))).toEqual(none);
    expect(polls(await schedules.forRequest({ ...FOX, model: "z-image" }))).toEqual(none);
  });

  it("passes over tasks that were not seen to complete", async () => {
    const { schedules, remember } = await newLedger();
    await remember(FOX, { seenMs: null, pendingMs: null }, ...many(10), { seenMs: null, pendingMs: null });
    expect(polls(await schedules.forRequest(FOX))).toEqual(polls(learnedSchedule(many(10))));
  });

  it("learns from each task that completes while it runs; who waits already keeps to one plan", async () => {
    const { schedules } = await newLedger();
    const before = await schedules.forRequest(FOX);
    for (const interval of many(20)) await schedules.learn({ ...FOX, prompt: "another" }, interval);
    expect(polls(before)).toEqual(polls(learnedSchedule([])));
    const later = await schedules.forRequest(FOX);
    const laterPolls = (schedule: PollingSchedule) => pollTimes(schedule, 90_000, 10_000);
    expect(laterPolls(later)).toEqual(laterPolls(learnedSchedule(many(20))));
  });

  it("is computed again once more than a quarter of what it was learned from is new", async () => {
    const { schedules, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const plan = async () => (await schedules.forRequest(FOX)).nextDelayMs(60_000);
    const first = await plan();
    const learn = async (count: number) => {
      for (const interval of many(count)) await schedules.learn(FOX, interval);
    };
    await learn(6);
    expect(await plan()).toBe(first);
    await learn(1);
    const second = await plan();
    expect(second).not.toBe(first);
    expect(await plan()).toBe(second);
  });

  it("spreads the first polls of tasks that begin together, from the plan's own on", async () => {
    const { schedules, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const given = [];
    for (let order = 0; order < 32; order++) given.push(await schedules.forRequest(FOX));
    const firsts = given.map(({ nextDelayMs }) => nextDelayMs(0));
    const plan = learnedSchedule(many(20));
    const second = plan.nextDelayMs(0) + plan.nextDelayMs(plan.nextDelayMs(0));
    expect(firsts[0]).toBe(plan.nextDelayMs(0));
    expect(Math.min(...firsts)).toBe(firsts[0]);
    expect(Math.max(...firsts)).toBeLessThan((plan.nextDelayMs(0) + second) / 2);
    expect(new Set(firsts.map((ms) => Math.round(ms / 10))).size).toBeGreaterThan(24);
    // Whoever comes later to a task keeps to the plan.
    for (const { nextDelayMs } of given) expect(nextDelayMs(150)).toBe(plan.nextDelayMs(150));
  });

  it("is the plan's own again for a task that begins once those before it have been polled", async () => {
    const { schedules, clock, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const plan = polls(learnedSchedule(many(20)));
    for (let task = 0; task < 3; task++) {
      expect(polls(await schedules.forRequest(FOX))).toEqual(plan);
      expect(polls(await schedules.forRequest(FOX))).not.toEqual(plan);
      clock.advance((plan[0] ?? 0) + 1);
    }
  });

  it("polls all but the first of a run's tasks after half an interval where nothing is known", async () => {
    const { schedules } = await newLedger();
    const [first, second, third] = [
      await schedules.forRequest(FOX),
      await schedules.forRequest(FOX),
      await schedules.forRequest(FOX),
    ];
    expect(polls(first)).toEqual(polls(defaultSchedule));
    expect([second, third].map(({ nextDelayMs }) => nextDelayMs(0))).toEqual([1400, 1400]);
    expect(second.nextDelayMs(1400)).toBe(defaultSchedule.nextDelayMs(1400));
  });

  it("learns nothing from tasks that were not waited for", async () => {
    const { schedules, remember } = await newLedger();
    await remember(FOX, { seenMs: 86_400_000, pendingMs: null });
    await schedules.learn(FOX, { seenMs: 600_000, pendingMs: 3000 });
    expect(polls(await schedules.forRequest(FOX))).toEqual(polls(defaultSchedule));
  });

  it("uses the latest 50 alone", async () => {
    const { schedules } = await newLedger();
    for (let each = 0; each < 30; each++) await schedules.learn(FOX, { seenMs: 3000, pendingMs: 2000 });
    for (const interval of many(50)) await schedules.learn(FOX, interval);
    expect(polls(await schedules.forRequest(FOX))).toEqual(polls(learnedSchedule(many(50))));
  });

  it("learns nothing from a task that is not known", async () => {
    const { schedules } = await newLedger();
    await schedules.learn(null, SEEN);
    expect(polls(await schedules.forRequest(FOX))).toEqual(polls(learnedSchedule([])));
  });

  it("is that of no experience where the ledger cannot be read", async () => {
    const { state } = await newLedger();
    const ledger = new Ledger(`${state}/${"x".repeat(300)}`, fakeClock(), someProcesses(1).as(1));
    const schedules = new PollingSchedules(ledger, INTENT.service);
    expect(polls(await schedules.forRequest(FOX))).toEqual(polls(learnedSchedule([])));
  });
});
