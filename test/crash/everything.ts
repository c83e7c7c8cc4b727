import { afterAll, describe, it } from "vitest";
import { ProgramHost } from "../support/program-host.ts";
import { chosenSeed } from "../support/random.ts";
import { BUILT } from "./build-mutant.ts";
import { tryPairs } from "./pairs.ts";
import { expectSound, expectSurvived } from "./report.ts";
import { SCENARIOS } from "./scenarios.ts";
import { soak } from "./soak.ts";
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
