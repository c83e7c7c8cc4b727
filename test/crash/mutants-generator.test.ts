import { afterAll, describe, it } from "vitest";
import { everyNth } from "../support/holds.ts";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT } from "./build-mutant.ts";
import {
  type GeneratorPoint,
  type GeneratorScenario,
  generatorPoints,
  tryGeneratorPoint,
} from "./judge-generator.ts";
import { GENERATOR_MUTANTS } from "./mutants-generator.ts";
import { EVERY_KILL } from "./points.ts";
import { expectCaught } from "./report.ts";
import { tryPlanted } from "./try-mutant.ts";
import type { Program } from "./try-point.ts";

const known = new Map<GeneratorScenario, Promise<GeneratorPoint[]>>();

function pointsOf(scenario: GeneratorScenario): Promise<GeneratorPoint[]> {
  const points = known.get(scenario) ?? generatorPoints(scenario, EVERY_KILL, sound);
  known.set(scenario, points);
  return points;
}

const sound = { folder: BUILT, recovery: new ProgramHost(BUILT) };

afterAll(() => sound.recovery.close());

describe.concurrent("before a paid generator, a planted bug is caught, and the program without it passes the same case", () => {
  // Every fourth one; `npm run crash` tries them all.
  const mutants = everyNth(GENERATOR_MUTANTS, 4);
  it.for(mutants)("$bug", { timeout: 300_000 }, async ({ bug, edits, scenario, at }) => {
    const points = (await pointsOf(scenario)).filter(({ name }) => at.test(name));
    const tryAt = (point: GeneratorPoint, program: Program) => tryGeneratorPoint(scenario, point, program);
    const planted = { bug, edits, placesIn: async () => points, tryAt };
    expectCaught(await tryPlanted(planted, sound));
  });
});
