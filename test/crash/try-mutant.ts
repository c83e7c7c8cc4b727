import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ProgramHost } from "../support/program-host.ts";
import { buildMutant } from "./build-mutant.ts";
import type { Mutant } from "./mutant.ts";
import type { Edit } from "./operators.ts";
import { type Point, UNDISTURBED } from "./points.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { type Outcome, type Program, pointsOf, tryPoint } from "./try-point.ts";

export interface Trial {
  bug: string;
  /**
   * A plain generate that nothing happens to: a bug that breaks even that says nothing of the crash tests. null
   * where it is known to show right there.
   */
  plain: Outcome | null;
  /** The first case that caught it; null if none did. */
  caught: Outcome | null;
  /** The same case with the program as it is. */
  sound: Outcome | null;
}

/**
 * How often the points are tried. The rows of a batch are worked on at the same time, so on a busy machine the n-th
 * operation may be another one than in the run that the points come from.
 */
const ROUNDS = 3;

/** A planted bug, and how it is looked for. */
interface Planted<Place> {
  bug: string;
  edits: Edit[];
  /** The places where it is known to show, in a program that has it. */
  placesIn: (mutant: Program) => Promise<readonly Place[]>;
  tryAt: (place: Place, program: Program) => Promise<Outcome>;
  /** How it does where nothing happens to it; absent where that is not told. */
  tryPlain?: (mutant: Program) => Promise<Outcome>;
}

/** Plants a bug and tries the places where it is known to show; the sound program must pass the very same case. */
export async function tryPlanted<Place>(
  { bug, edits, placesIn, tryAt, tryPlain }: Planted<Place>,
  sound: Program,
): Promise<Trial> {
  const folder = await mkdtemp(path.join(tmpdir(), "imggen-mutant-"));
  let recovery: ProgramHost | null = null;
  try {
    await buildMutant(edits, folder);
    recovery = new ProgramHost(folder);
    const mutant = { folder, recovery };
    const plain = (await tryPlain?.(mutant)) ?? null;
    for (let round = 1; round <= ROUNDS; round++) {
      for (const place of await placesIn(mutant)) {
        const caught = await tryAt(place, mutant);
        if (caught.wrong.length === 0) continue;
        return { bug, plain, caught, sound: await tryAt(place, sound) };
      }
    }
    return { bug, plain, caught: null, sound: null };
  } finally {
    recovery?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Plants a bug that shows in a scenario. */
export function tryMutant<Kind extends Scenario>(
  { bug, edits, shows }: Mutant<Kind>,
  sound: Program,
  tryHere: (scenario: Kind, point: Point, program: Program) => Promise<Outcome>,
): Promise<Trial> {
  const showsInPlain = shows.scenario.name === SCENARIOS.plain.name && shows.at === UNDISTURBED;
  const planted: Planted<Point> = {
    bug,
    edits,
    placesIn: (mutant) => pointsToTry(shows, mutant),
    tryAt: (point, program) => tryHere(shows.scenario, point, program),
  };
  const tryPlain = (mutant: Program) => tryPoint(SCENARIOS.plain, UNDISTURBED, mutant);
  return tryPlanted(showsInPlain ? planted : { ...planted, tryPlain }, sound);
}

async function pointsToTry({ scenario, at }: Mutant["shows"], program: Program): Promise<Point[]> {
  if (!(at instanceof RegExp)) return [at];
  const points = (await pointsOf(scenario, program)).filter(({ name }) => at.test(name));
  if (points.length === 0) throw new Error(`${scenario.name} has no point named ${at}`);
  return points;
}
