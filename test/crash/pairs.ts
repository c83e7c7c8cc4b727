import { mapConcurrent } from "../../src/lib/concurrency.ts";
import { pick, randomFrom } from "../support/random.ts";
import { judgeRecovery } from "./judge-recovery.ts";
import { judgeRun } from "./judge-run.ts";
import { ledgerTasks } from "./ledger-tasks.ts";
import type { Point, PowerCut } from "./points.ts";
import { RESUME, type Scenario } from "./scenarios.ts";
import { inWorld, type Outcome, type Program, pointsOf, runScenario, WORKERS } from "./try-point.ts";
import type { CrashWorld, DiskMode, Strike } from "./world.ts";

const MODES: readonly DiskMode[] = [
  "kill-before",
  "kill-after",
  "half-written",
  "EIO",
  "ENOSPC",
  "power cut: bytes",
  "power cut: names",
];

const STAGES = [
  "poll: arrived",
  "poll: replied",
  "download: arrived",
  "download: half",
  "download: last byte",
] as const;

/** How many operations the resume of a task takes, about, by its state. */
const OPERATIONS: Record<string, number> = {
  accepted: 70,
  completed: 70,
  saved: 40,
  started: 40,
  waiting: 40,
  unknown: 20,
};

/**
 * Crashes a run, then the resume after it, each somewhere and somehow, and finishes with an undisturbed one:
 * some bugs show only when the second run crashes as well. Pairs whose second crash never came do not count.
 */
export async function tryPairs(
  scenarios: readonly Scenario[],
  wanted: number,
  seed: number,
  program: Program,
): Promise<Outcome[]> {
  const random = randomFrom(seed);
  const points = new Map<Scenario, Point[]>();
  for (const scenario of scenarios) points.set(scenario, await pointsOf(scenario, program));
  const pairs: Outcome[] = [];
  while (pairs.length < wanted) {
    const draws = Array.from({ length: wanted - pairs.length }, () => {
      const scenario = pick(scenarios, random);
      const first = pick(points.get(scenario) ?? [], random);
      return { scenario, first, second: randomFrom(random() * 2 ** 32) };
    });
    const tried = await mapConcurrent(draws, WORKERS, ({ scenario, first, second }) =>
      tryPair(scenario, first, (world) => secondStrike(world, second), program),
    );
    pairs.push(...tried.filter(({ struck, wrong }) => struck || wrong.length > 0));
  }
  return pairs;
}

/**
 * Crashes a scenario at a point, each time with a resume after it that is struck too. Where the resume ended before that,
 * the try does not count.
 * @param name what points are called; `which` of these it is
 */
export async function tryStrikesAfter(
  scenario: Scenario,
  name: RegExp,
  which: number,
  strikes: readonly Strike[],
  program: Program,
): Promise<Outcome[]> {
  const first = await pointNamed(scenario, name, which, program);
  const tried = await mapConcurrent(strikes, WORKERS, (strike) =>
    tryPair(scenario, first, () => strike, program),
  );
  return tried.filter(({ struck, wrong }) => struck || wrong.length > 0);
}

/** The point of this name. @param which of several @throws where there is none */
export async function pointNamed(
  scenario: Scenario,
  name: RegExp,
  which: number,
  program: Program,
): Promise<Point> {
  const found = (await pointsOf(scenario, program)).filter((point) => name.test(point.name)).at(which);
  if (!found) throw new Error(`"${scenario.name}" has no point ${name}`);
  return found;
}

/** Of a resume: the power fails at its first operation, at its second, and so on, and while it polls. */
export function powerCuts(operations: number, modes: readonly PowerCut[]): Strike[] {
  return modes.flatMap((mode): Strike[] => [
    ...atEach(operations, mode),
    { at: null, mode, stage: "poll: replied", nth: 1, incident: "kill" },
  ]);
}

/** A strike at its first operation, one at its second, and so on. */
export function atEach(operations: number, mode: DiskMode): { at: number; mode: DiskMode }[] {
  return Array.from({ length: operations }, (_, at) => ({ at: at + 1, mode }));
}

/** @param strikeIn the second crash, which depends on what the first one left */
async function tryPair(
  scenario: Scenario,
  first: Point,
  strikeIn: (world: CrashWorld) => Strike,
  program: Program,
): Promise<Outcome> {
  return inWorld(scenario, program, async (world, recover) => {
    const runs = await runScenario(world, first.strike);
    const wrong = runs.flatMap((run) => judgeRun(world, run));
    const strike = strikeIn(world);
    const resumed = await world.run(RESUME, strike);
    runs.push(resumed);
    wrong.push(...judgeRun(world, resumed), ...(await judgeRecovery(world, runs, recover)));
    const point = `${first.name}; then ${JSON.stringify(strike)}`;
    return { scenario: scenario.name, point, struck: resumed.struck, wrong };
  });
}

/** Somewhere in the resume to come: at one of its file operations, or of its dealings with the service. */
function secondStrike(world: CrashWorld, random: () => number): Strike {
  const last = ledgerTasks(world)[0]?.last ?? "";
  const mode = pick(MODES, random);
  const at = 1 + Math.floor(random() * (OPERATIONS[last] ?? 2));
  const meetsService = last === "accepted" || last === "completed";
  if (!meetsService || random() < 0.7) return { at, mode };
  const cut = pick(["kill", "power cut: bytes", "power cut: names"] as const, random);
  return { at: null, mode: cut, stage: pick(STAGES, random), nth: 1, incident: "kill" };
}
