import { afterAll, describe, it } from "vitest";
import { ProgramHost } from "../support/program-host.ts";
import { chosenSeed } from "../support/random.ts";
import { BATCHES } from "./batch-scenarios.ts";
import { type BatchSoakSize, soakBatch } from "./batch-soak.ts";
import { BUILT } from "./build-mutant.ts";
import { tryPairs } from "./pairs.ts";
import { expectSound, expectSurvived } from "./report.ts";
import { SCENARIOS } from "./scenarios.ts";
import { soak, totalOf } from "./soak.ts";
import { tryBatchPoint } from "./try-batch.ts";
import { trySingles } from "./try-point.ts";

const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const seed = chosenSeed();

afterAll(() => program.recovery.close());

describe("every crash, in every way, with each command in a process of its own", () => {
  it.for(Object.values(SCENARIOS))("$name", async (scenario) => {
    expectSound(scenario.name, await trySingles(scenario, { folder: BUILT, recovery: null }));
  });
});

it("5,000 pairs of crashes", async () => {
  const pairs = await tryPairs(Object.values(SCENARIOS), 5_000, seed, program);
  expectSound(`pairs of crashes, seed ${seed}`, pairs);
});

it("1,000 kills over 500 requests", async () => {
  expectSurvived(await soak({ requests: 500, kills: 1_000 }, seed, program), seed);
});

describe("every crash of a batch, in every way", () => {
  it.for(Object.values(BATCHES))("$name", async (batch) => {
    expectSound(batch.name, await trySingles(batch, program, { tryHere: tryBatchPoint }));
  });
});

describe("hundreds of kills of batches", () => {
  const sizes: BatchSoakSize[] = [1, 2, 3].flatMap((processes) => [
    { rows: 40, processes, edited: false },
    { rows: 40, processes, edited: true },
  ]);

  it.for(sizes)("of $rows rows, with $processes at once, edited: $edited", async (size) => {
    const soaks = [];
    for (let at = 0; at < 20; at++) soaks.push(await soakBatch(size, seed + at, program));
    expectSurvived(totalOf(soaks), seed);
  });
});
