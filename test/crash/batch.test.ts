import { afterAll, describe, it } from "vitest";
import { mapConcurrent } from "../../src/lib/concurrency.ts";
import { everyNth } from "../support/holds.ts";
import { ProgramHost } from "../support/program-host.ts";
import { chosenSeed, randomFrom } from "../support/random.ts";
import { BATCHES, BATCHES_TOGETHER, type BatchScenario, CLEARED, STALLED } from "./batch-scenarios.ts";
import { soakBatch } from "./batch-soak.ts";
import { BUILT } from "./build-mutant.ts";
import { shuffled } from "./manifest-edits.ts";
import { type Point, UNDISTURBED } from "./points.ts";
import { expectSound, expectSurvived } from "./report.ts";
import { tryBatchPoint } from "./try-batch.ts";
import { pointsOf, trySingles, WORKERS } from "./try-point.ts";

// The crash tests of `batch` in small; `npm run crash` runs all of them, from new seeds. A seed that it printed
// can be tried again with IMGGEN_CRASH_SEED.
const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const seed = chosenSeed();
const timeout = 240_000;
const POINTS_EACH = 1;

const tryBatches = (batch: BatchScenario, choose: (points: Point[]) => Point[]) =>
  trySingles(batch, program, { choose, tryHere: tryBatchPoint });

afterAll(() => program.recovery.close());

describe("after a crash, the same batch again leaves each row submitted once and saved once", () => {
  it("wherever it was stopped", { timeout }, async () => {
    const random = randomFrom(seed);
    for (const batch of everyNth(Object.values(BATCHES), 2)) {
      const outcomes = await tryBatches(batch, (points) => shuffled(points, random).slice(0, POINTS_EACH));
      expectSound(`${batch.name}, seed ${seed}`, outcomes);
    }
  });

  it("wherever the disk fails to say what other processes have claimed", { timeout }, async () => {
    const reads = / (readdir [0-9a-f]+|readFile [0-9a-f]+-\d+\.\d+)$/;
    const outcomes = await tryBatches(BATCHES.fresh, (points) =>
      everyNth(
        points.filter(({ name }) => name.startsWith("EIO") && reads.test(name)),
        2,
      ),
    );
    expectSound("a batch with a disk that fails to read its claims", outcomes);
  });

  it("wherever the disk is full after the service has said no", { timeout }, async () => {
    const writes = /^ENOSPC at operation \d+, write .*\.jsonl\.draft-/;
    const outcomes = await tryBatches(BATCHES.turnedAway, (points) =>
      everyNth(
        points.filter(({ name }) => writes.test(name)),
        4,
      ),
    );
    expectSound("a batch that is turned away, on a full disk", outcomes);
  });

  it("when the ledger was cleared of its tasks after it", { timeout }, async () => {
    const points = (await pointsOf(CLEARED, program)).filter(
      ({ name }) => name === "kill at submit: charged",
    );
    const outcomes = await mapConcurrent([UNDISTURBED, ...points], WORKERS, (point) =>
      tryBatchPoint(CLEARED, point, program),
    );
    expectSound("a batch whose tasks were cleared away", outcomes);
  });

  it("whatever another process made of its rows in the middle of it", { timeout }, async () => {
    const { finished, begun, waiting } = BATCHES_TOGETHER;
    expectSound("two batches", [
      await tryBatchPoint(finished, STALLED, program),
      await tryBatchPoint(begun, STALLED, program),
      await tryBatchPoint(waiting, UNDISTURBED, program),
    ]);
  });

  it("when it was killed at any moment, again and again", { timeout }, async () => {
    expectSurvived(await soakBatch({ rows: 24, processes: 1, edited: false }, seed, program), seed);
  });

  it("when several processes worked on it and its manifest changed between the runs", {
    timeout,
  }, async () => {
    expectSurvived(await soakBatch({ rows: 15, processes: 3, edited: true }, seed, program), seed);
  });
});
