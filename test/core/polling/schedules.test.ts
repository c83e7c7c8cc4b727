import { describe, expect, it } from "vitest";
import {
  automaticCadence,
  type Cadence,
  expectedCadence,
  learnedCadence,
  spreadCadence,
} from "../../../src/core/polling/index.ts";
import { Cadences } from "../../../src/core/polling/schedules.ts";
import type { GenerationRequest } from "../../../src/models/request.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { finishTask } from "../../support/finish-task.ts";
import { temporaryFolder } from "../../support/program.ts";
import { EVENTS, INTENT } from "../../support/records.ts";
import { lookTimes } from "../../support/simulated-tasks.ts";
import { someProcesses } from "../../support/some-processes.ts";

const FOX: GenerationRequest = { prompt: "a fox", model: "gamma-image-2" };
const SEEN = { seenMs: 41_000, pendingMs: 40_000 };
const { accepted, completed, saved } = EVENTS;

async function newLedger() {
  const state = await temporaryFolder();
  const ledger = new Ledger(state, fakeClock(), someProcesses(1).as(1));
  /** Finished tasks, seen to complete at these times. */
  const remember = async (
    request: GenerationRequest,
    ...sightings: { seenMs: number | null; pendingMs: number | null }[]
  ) => {
    for (const sighting of sightings) {
      const task = await ledger.begin({ ...INTENT, request });
      for (const event of [accepted, { ...completed, ...sighting }, saved]) await task.file.record(event);
      await finishTask(ledger, task);
    }
  };
  return { ledger, remember, cadences: new Cadences(ledger, INTENT.service), state };
}

const looks = (cadence: Cadence) => lookTimes(cadence, 90_000);
const many = (count: number) => Array.from({ length: count }, () => SEEN);

describe("the cadence of a request", () => {
  it("is that of no experience, where there is none", async () => {
    const { cadences } = await newLedger();
    expect(looks(await cadences.of(FOX))).toEqual(looks(learnedCadence([])));
  });

  it("is that of the service's own duration where that is known, whatever the history says", async () => {
    const { ledger, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const cadences = new Cadences(ledger, INTENT.service, 600);
    for (const request of [FOX, null])
      expect(looks(await cadences.of(request))).toEqual(looks(expectedCadence(600)));
  });

  it("is the automatic one where the request is not known", async () => {
    const { cadences, remember } = await newLedger();
    await remember(FOX, ...many(20));
    expect(await cadences.of(null)).toBe(automaticCadence);
  });

  it("is what this machine's own tasks of its model and quality have taught", async () => {
    const { cadences, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const learned = looks(learnedCadence(many(20)));
    expect(looks(await cadences.of({ ...FOX, prompt: "a hen", ratio: "1:1" }))).toEqual(learned);
    const none = looks(learnedCadence([]));
    expect(learned).not.toEqual(none);
    expect(looks(await cadences.of({ ...FOX, quality: "2K" }))).toEqual(none);
    expect(looks(await cadences.of({ ...FOX, model: "z-image" }))).toEqual(none);
  });

  it("passes over tasks that nobody saw complete", async () => {
    const { cadences, remember } = await newLedger();
    await remember(FOX, { seenMs: null, pendingMs: null }, ...many(10), { seenMs: null, pendingMs: null });
    expect(looks(await cadences.of(FOX))).toEqual(looks(learnedCadence(many(10))));
  });

  it("learns from each task that completes while it runs; who waits already keeps to one plan", async () => {
    const { cadences } = await newLedger();
    const before = await cadences.of(FOX);
    for (const interval of many(20)) await cadences.learn({ ...FOX, prompt: "another" }, interval);
    const learned = looks(learnedCadence(many(20)));
    expect(looks(before)).toEqual(looks(learnedCadence([])));
    expect(looks(await cadences.of(FOX))).toEqual(learned);
  });

  it("is made anew once more than a quarter of what it was learned from is new", async () => {
    const { cadences, remember } = await newLedger();
    await remember(FOX, ...many(20));
    const first = await cadences.of(FOX);
    const learn = async (count: number) => {
      for (const interval of many(count)) await cadences.learn(FOX, interval);
    };
    await learn(6);
    expect(await cadences.of(FOX)).toBe(first);
    await learn(1);
    const second = await cadences.of(FOX);
    expect(second).not.toBe(first);
    expect(await cadences.of(FOX)).toBe(second);
  });

  it("learns nothing from tasks that nobody waited for", async () => {
    const { cadences, remember } = await newLedger();
    await remember(FOX, { seenMs: 86_400_000, pendingMs: null });
    await cadences.learn(FOX, { seenMs: 600_000, pendingMs: 3000 });
    const inOrder = [await cadences.of(FOX), await cadences.of(FOX)].map((cadence) => cadence.nextDelayMs(0));
    expect(inOrder).toEqual([0, 1].map((order) => spreadCadence(order).nextDelayMs(0)));
  });

  it("goes by the latest 50 alone", async () => {
    const { cadences } = await newLedger();
    for (let each = 0; each < 30; each++) await cadences.learn(FOX, { seenMs: 3000, pendingMs: 2000 });
    for (const interval of many(50)) await cadences.learn(FOX, interval);
    expect(looks(await cadences.of(FOX))).toEqual(looks(learnedCadence(many(50))));
  });

  it("spreads the first looks of tasks that are begun together, where there is no experience", async () => {
    const { cadences } = await newLedger();
    const first: number[] = [];
    for (let each = 0; each < 32; each++) first.push((await cadences.of(FOX)).nextDelayMs(0));
    expect(first[0]).toBe(automaticCadence.nextDelayMs(0));
    const sorted = first.toSorted((a, b) => a - b);
    const gaps = sorted.slice(1).map((at, before) => at - (sorted[before] ?? 0));
    expect(sorted[0]).toBeLessThan(2600);
    expect(sorted.at(-1)).toBeGreaterThan(3600);
    expect(Math.max(...gaps)).toBeLessThan(110);
  });

  it("learns nothing from a task that is not known", async () => {
    const { cadences } = await newLedger();
    await cadences.learn(null, SEEN);
    expect(looks(await cadences.of(FOX))).toEqual(looks(learnedCadence([])));
  });

  it("is that of no experience where the ledger cannot be read", async () => {
    const { state } = await newLedger();
    const ledger = new Ledger(`${state}/${"x".repeat(300)}`, fakeClock(), someProcesses(1).as(1));
    const cadences = new Cadences(ledger, INTENT.service);
    expect(looks(await cadences.of(FOX))).toEqual(looks(learnedCadence([])));
  });
});
