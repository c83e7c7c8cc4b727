import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildMutant } from "./build-mutant.ts";
import type { Mutant } from "./mutant.ts";
import type { Point } from "./points.ts";
import type { Scenario } from "./scenarios.ts";
import { type Outcome, type Program, pointsOf } from "./try-point.ts";

export interface Trial {
  bug: string;
  /** The first case that caught it; null where none did. */
  caught: Outcome | null;
  /** The same case with the program as it is. */
  sound: Outcome | null;
}

/** Plants a bug, and looks where it is known to show; the sound program must pass the very same case. */
export async function tryMutant<Kind extends Scenario>(
  { bug, edits, shows }: Mutant<Kind>,
  sound: Program,
  tryPoint: (scenario: Kind, point: Point, program: Program) => Promise<Outcome>,
): Promise<Trial> {
  const folder = await mkdtemp(path.join(tmpdir(), "imggen-mutant-"));
  try {
    await buildMutant(edits, folder);
    // Each command in a process of its own: a shared one would cost the start of another process.
    const mutant = { folder, recovery: null };
    for (const point of await pointsToTry(shows, mutant)) {
      const caught = await tryPoint(shows.scenario, point, mutant);
      if (caught.wrong.length === 0) continue;
      return { bug, caught, sound: await tryPoint(shows.scenario, point, sound) };
    }
    return { bug, caught: null, sound: null };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pointsToTry({ scenario, at }: Mutant["shows"], program: Program): Promise<Point[]> {
  if (!(at instanceof RegExp)) return [at];
  return (await pointsOf(scenario, program)).filter(({ name }) => at.test(name));
}
