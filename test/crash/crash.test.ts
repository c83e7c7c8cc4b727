import { afterAll, describe, it } from "vitest";
import { mapConcurrent } from "../../src/lib/concurrency.ts";
import { everyNth, isLongRun } from "../support/holds.ts";
import { ProgramHost } from "../support/program-host.ts";
import { chosenSeed } from "../support/random.ts";
import { BUILT } from "./build-mutant.ts";
import { atEach, powerCuts, tryPairs, tryStrikesAfter } from "./pairs.ts";
import {
  EVERY_KILL,
  EVERY_STATE,
  incidentAt,
  incidentPoints,
  POWER_CUTS,
  type Point,
  pointsBetween,
  quickPart,
  UNDISTURBED,
} from "./points.ts";
import { expectSound, expectSurvived } from "./report.ts";
import { IMPATIENT, SCENARIOS, TAKEN_OVER, TIMED_OUT, TOGETHER } from "./scenarios.ts";
import { soak } from "./soak.ts";
import { tryPoint, trySingles, WORKERS } from "./try-point.ts";

// The crash tests in small; `npm run crash` runs all of them, from new seeds. A seed that it printed
// can be tried again with IMGGEN_CRASH_SEED.
const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const seed = chosenSeed();
const timeout = 300_000;

afterAll(() => program.recovery.close());

describe("after a crash, resume leaves each request submitted once and each image saved once", () => {
  it("wherever a generate was stopped", { timeout }, async () => {
    expectSound(
      "a generate stopped once",
      await trySingles(SCENARIOS.plain, program, { modes: EVERY_STATE, choose: quickPart }),
    );
  });

  it("wherever it was stopped where there are no hard links", { timeout }, async () => {
    // What comes before and after is the same as with hard links.
    const choose = (points: Point[]) =>
      pointsBetween(points, / open .*imggen-name-/, / unlink .*imggen-name-/);
    const outcomes = await trySingles(SCENARIOS.noHardLinks, program, {
      modes: EVERY_KILL,
      choose: (points) => everyNth(choose(points), 3),
    });
    expectSound("a generate stopped once, without hard links", outcomes);
  });

  it("wherever a generate was stopped that is turned away with 429 before it is accepted", {
    timeout,
  }, async () => {
    // From the first refusal to the second; what comes after is the same again.
    const choose = (points: Point[]) => {
      const ofTask = points.filter(({ name }) => /\.jsonl$/.test(name));
      const written = /^kill-after at operation \d+, write /;
      const [intent, , , second] = ofTask.flatMap(({ name }, at) => (written.test(name) ? [at] : []));
      return [
        ...ofTask.slice(intent, second),
        ...points.filter(({ name }) => / at submit: (turned away|\w+, time 2)$/.test(name)),
      ];
    };
    const outcomes = await trySingles(SCENARIOS.turnedAway, program, {
      modes: EVERY_STATE,
      choose: (points) => quickPart(choose(points)),
    });
    expectSound("a generate turned away twice and stopped once", outcomes);
  });

  it("and its sidecar is whole, wherever a generate was stopped while it wrote that", {
    timeout,
  }, async () => {
    const choose = (points: Point[]) => pointsBetween(points, /\.png$/, / at operation /);
    const outcomes = await trySingles(SCENARIOS.sidecar, program, {
      modes: EVERY_KILL,
      choose: (points) => everyNth(choose(points), 3),
    });
    expectSound("a generate stopped once at its sidecar", outcomes);
  });

  it("whatever went wrong between the program and the service", { timeout }, async () => {
    const points = incidentPoints();
    const outcomes = await mapConcurrent(points, WORKERS, (point) => tryPoint(IMPATIENT, point, program));
    outcomes.push(await tryPoint(TIMED_OUT, UNDISTURBED, program));
    expectSound("incidents with the service", outcomes);
  });

  it("whatever another process did in the middle of it", { timeout }, async () => {
    const { resumes, generateAndResume, submitAndResume, generations } = TOGETHER;
    expectSound("two processes", [
      await tryPoint(resumes, incidentAt("download: half", "stall"), program),
      await tryPoint(generateAndResume, incidentAt("poll: arrived", "stall"), program),
      await tryPoint(submitAndResume, incidentAt("submit: half a reply", "stall"), program),
      await tryPoint(generations, incidentAt("download: half", "stall"), program),
    ]);
  });

  it("when a process that had been stopped finds that another one has taken its task", {
    timeout,
  }, async () => {
    const { waiting, sent, sentForId, polled } = TAKEN_OVER;
    expectSound("a task taken from a process that lives", [
      await tryPoint(waiting, UNDISTURBED, program),
      await tryPoint(sent, incidentAt("submit: half a reply", "stall"), program),
      await tryPoint(sentForId, incidentAt("submit: half a reply", "stall"), program),
      await tryPoint(polled, incidentAt("poll: arrived", "stall"), program),
    ]);
  });

  it("when the resume crashed as well", { timeout }, async () => {
    const { plain, noWait, nameTaken } = SCENARIOS;
    const pairs = await tryPairs([plain, noWait, nameTaken], 20, seed, program);
    expectSound(`pairs of crashes, seed ${seed}`, pairs);
  });

  it("when the power failed while it took over a request that had not reached the disk", {
    timeout,
  }, async () => {
    const written = /^kill-after at operation \d+, write .*\.jsonl$/;
    const cuts = everyNth(powerCuts(16, isLongRun ? POWER_CUTS : ["power cut: names"]), 2);
    const intents = await tryStrikesAfter(SCENARIOS.noWait, written, 0, cuts, program);
    expectSound("power cuts after an intent was written", intents);
    const ids = await tryStrikesAfter(SCENARIOS.noWait, written, -1, cuts, program);
    expectSound("power cuts after a task id was written", ids);
  });

  it("when the disk failed after a reservation was left unfinished", { timeout }, async () => {
    const reserving = /^kill-after at operation \d+, open .*imggen-name-/;
    const failures = everyNth(atEach(34, "EIO"), 4);
    const outcomes = await tryStrikesAfter(SCENARIOS.noHardLinks, reserving, 0, failures, program);
    expectSound("failures of the disk after an unfinished reservation", outcomes);
  });

  it("when programs were killed at any moment, several at once", { timeout }, async () => {
    expectSurvived(await soak({ requests: 12, kills: 20 }, seed, program), seed);
  });
});
