import { mapConcurrent } from "../../src/lib/concurrency.ts";
import type { ProgramHost } from "../support/program-host.ts";
import { judgeRecovery, type Recover } from "./judge-recovery.ts";
import { judgeRun } from "./judge-run.ts";
import { diskPoints, EVERY_MODE, type Modes, type Point, stagePoints } from "./points.ts";
import type { Scenario } from "./scenarios.ts";
import { CrashWorld, type Run, type Strike } from "./world.ts";

/** What a try came to. */
export interface Outcome {
  scenario: string;
  point: string;
  /** Whether everything that was to happen has happened. */
  struck: boolean;
  /** What is wrong, in words; empty if all is well. */
  wrong: string[];
}

/** A built program on trial. */
export interface Program {
  /** Holds its `bin` and `dist`. */
  folder: string;
  /** Runs what is not struck; null: each in a process of its own. */
  recovery: ProgramHost | null;
}

/** Works in a world of its own, gone after it. */
export async function inWorld<Result>(
  scenario: Scenario,
  program: Program,
  work: (world: CrashWorld, recover: Recover) => Promise<Result>,
): Promise<Result> {
  const world = new CrashWorld(scenario, program.folder);
  const { recovery } = program;
  const recover: Recover = (argv) => (recovery ? world.recover(argv, recovery) : world.run(argv));
  await world.open();
  try {
    return await work(world, recover);
  } finally {
    await world.close();
  }
}

/** Runs a scenario's commands up to the one that is crashed, which is struck. */
export async function runScenario(world: CrashWorld, strike: Strike | null): Promise<Run[]> {
  const { steps, crashed, name } = world.scenario;
  for (const { argv, incident, killAfter } of steps.slice(0, crashed))
    await world.run(argv(world), incident ? { at: null, mode: "incident", ...incident } : null, killAfter);
  const step = steps[crashed];
  if (!step) throw new Error(`"${name}" has no step ${crashed}`);
  return world.runStep(step, strike);
}

/** The points that a scenario's crashed step can be struck at, learned from a run that nothing happens to. */
export async function pointsOf(scenario: Scenario, program: Program, modes = EVERY_MODE): Promise<Point[]> {
  return inWorld(scenario, program, async (world) => {
    await runScenario(world, null);
    const { operations } = world.log();
    const last = operations.filter(({ pid }) => pid === operations.at(-1)?.pid);
    return [...diskPoints(last, modes), ...stagePoints(world.double.watch.reached, modes)];
  });
}

/**
 * Late bytes and a second process are no reason to fail; what another is at work on is pending, exit 6. Whoever takes a task
 * cannot know what a process that looks dead is still told.
 */
function judgeUndisturbed(runs: readonly Run[], { steps, crashed }: Scenario): string[] {
  const isTaken = steps[crashed]?.beside?.expires === true;
  const failed = runs.filter(
    ({ code }, at) => code !== 0 && code !== 6 && !(isTaken && at === 1 && code === 9),
  );
  return failed.map(({ argv, code, stdout }) => `${argv[0]} ends with ${code}, undisturbed: ${stdout}`);
}

export function isMereDelay(strike: Strike): boolean {
  return strike.at === null && strike.incident === "stall";
}

/** Programs at work at once: many of them wait, for a poll or for the disk. */
export const WORKERS = 4;

/** How the points of a scenario are tried. */
interface Singles<Kind extends Scenario> {
  /** Default: all. */
  modes?: Modes;
  /** Default: all points. */
  choose?: (points: Point[]) => Point[];
  /** Default: `tryPoint`. */
  tryHere?: (scenario: Kind, point: Point, program: Program) => Promise<Outcome>;
}

/** Strikes a scenario at each of its points, or at those that are chosen. */
export async function trySingles<Kind extends Scenario>(
  scenario: Kind,
  program: Program,
  { modes = EVERY_MODE, choose = (points) => points, tryHere = tryPoint }: Singles<Kind> = {},
): Promise<Outcome[]> {
  const points = choose(await pointsOf(scenario, program, modes));
  return mapConcurrent(points, WORKERS, (point) => tryHere(scenario, point, program));
}

/** What happens between a crash and the resume that finishes it. @returns what is wrong, in words */
type Between = (world: CrashWorld, recover: Recover) => Promise<string[]>;

/** Strikes a scenario at one point, recovers, and judges. */
export async function tryPoint(
  scenario: Scenario,
  { name, strike }: Point,
  program: Program,
  between: Between = async () => [],
): Promise<Outcome> {
  return inWorld(scenario, program, async (world, recover) => {
    const runs = await runScenario(world, strike);
    const wrong = runs.flatMap((run) => judgeRun(world, run));
    if (strike === null || isMereDelay(strike)) wrong.push(...judgeUndisturbed(runs, scenario));
    if (scenario.provider.forgets) world.double.forget();
    wrong.push(...(await between(world, recover)), ...(await judgeRecovery(world, runs, recover)));
    return {
      scenario: scenario.name,
      point: name,
      struck: strike === null || (runs[0]?.struck ?? false),
      wrong,
    };
  });
}
