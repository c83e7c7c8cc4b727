import { mapConcurrent } from "../../src/lib/concurrency.ts";
import { isLongRun } from "../support/holds.ts";
import { sha256 } from "../support/images.ts";
import { type GeneratorRun, type GeneratorStrike, GeneratorWorld } from "./generator-world.ts";
import type { Operation } from "./operations.ts";
import { MOMENTS } from "./paid-generator.ts";
import { diskPoints, type Modes, pointsBetween } from "./points.ts";
import { type Outcome, type Program, WORKERS } from "./try-point.ts";

/** What is tried: a generate of so many images. */
export interface PaidScenario {
  name: string;
  images: number;
  /** Those of its points that a quick run tries. */
  quickPart: (points: GeneratorPoint[]) => GeneratorPoint[];
}

export const ONE_IMAGE: PaidScenario = {
  name: "generate with a paid generator",
  images: 1,
  quickPart: (points) => points,
};
export const TWO_IMAGES: PaidScenario = {
  name: "generate of two images with a paid generator",
  images: 2,
  // What comes before and after is the same as with one image.
  quickPart: (points) => pointsBetween(points, / close reply$/, / link .*-2\.png$/),
};

export interface GeneratorPoint {
  name: string;
  strike: GeneratorStrike;
  /** Whether the ledger had the task's id by then, and the disk the whole reply: nothing may be lost any longer. */
  hasReply: boolean;
}

/** Strikes a generate at each operation on its task's files, and at each moment of its paid request. */
export async function tryGenerator(
  scenario: PaidScenario,
  modes: Modes,
  program: Program,
): Promise<Outcome[]> {
  const all = await generatorPoints(scenario, modes, program);
  const points = isLongRun ? all : scenario.quickPart(all);
  return mapConcurrent(points, WORKERS, (point) => tryGeneratorPoint(scenario, point, program));
}

/** Where it can be struck, learned from a run that nothing happens to. */
export async function generatorPoints(
  scenario: PaidScenario,
  modes: Modes,
  program: Program,
): Promise<GeneratorPoint[]> {
  return inWorld(scenario, program, async (world) => {
    await world.generate();
    const { operations, unwatched } = world.log();
    if (unwatched.length > 0) throw new Error(`not watched: ${unwatched}`);
    const first = numberOf(operations, ({ file }) => /tasks\/open\/[^/]+\.jsonl$/.test(file));
    // Of the last request: by then, the replies to all have arrived.
    const reply = lastOf(operations, ({ name, file }) => name === "close" && /\breply$/.test(file));
    const moments = MOMENTS.map((moment) => ({
      name: `kill at ${moment}`,
      strike: { moment },
      hasReply: false,
    }));
    const ofTask = operations.filter(({ number, file }) => number >= first && !/\.lock\b/.test(file));
    const disk = diskPoints(ofTask, modes).flatMap(({ name, strike }) => {
      if (strike === null || strike.at === null) return [];
      const isAfter = strike.at > reply || (strike.at === reply && strike.mode === "kill-after");
      return [{ name, strike, hasReply: isAfter && strike.mode.startsWith("kill") }];
    });
    return [...moments, ...disk];
  });
}

function lastOf(operations: readonly Operation[], is: (operation: Operation) => boolean): number {
  return numberOf(operations.toReversed(), is);
}

function numberOf(operations: readonly Operation[], is: (operation: Operation) => boolean): number {
  const number = operations.find(is)?.number;
  if (number === undefined) throw new Error("the run has no such operation");
  return number;
}

/** Strikes a generate at one point, resumes, and judges. */
export async function tryGeneratorPoint(
  scenario: PaidScenario,
  { name, strike, hasReply }: GeneratorPoint,
  program: Program,
): Promise<Outcome> {
  return inWorld(scenario, program, async (world) => {
    const run = await world.generate(strike);
    const first = await world.resume();
    const isKilled = "moment" in strike || strike.mode.startsWith("kill");
    const wrong = judge(world, { hasReply, isKilled }, [run, first]);
    const requests = world.generator.requests.length;
    const saved = world.saved().join();
    const again = await world.resume();
    if (again.code !== first.code) wrong.push(`a further resume ends with ${again.code}, not ${first.code}`);
    if (world.generator.requests.length !== requests) wrong.push("a further resume sends a request");
    if (world.saved().join() !== saved) wrong.push("a further resume changes the images");
    return { scenario: scenario.name, point: name, struck: run.struck, wrong };
  });
}

/** At most one request for an image, and what was paid for is saved, or reported as unknown. */
function judge(
  world: GeneratorWorld,
  { hasReply, isKilled }: { hasReply: boolean; isKilled: boolean },
  [run, resumed]: readonly GeneratorRun[],
): string[] {
  const { generator } = world;
  const wrong: string[] = [];
  const { images } = world;
  if (generator.requests.length > images) wrong.push(`${generator.requests.length} requests were sent`);
  const paid = new Set(generator.paid.map((_, at) => sha256(generator.image(at + 1))));
  const saved = world.saved();
  if (saved.some((digest) => !paid.has(digest))) wrong.push("a file is left that is no whole image");
  if (saved.length > new Set(saved).size) wrong.push("an image is saved twice");
  // 10: some are saved, and others named as lost.
  const isReported = [run, resumed].some((each) => each?.code === 9 || each?.code === 10);
  if (saved.length < paid.size && !isReported) {
    wrong.push(`it is paid for, and neither saved nor reported (exit ${run?.code}, then ${resumed?.code})`);
  }
  // A disk that fails may keep the rest from being sent; a kill is all the same to the next process.
  if (isKilled && generator.requests.length > 0 && saved.length < images && !isReported)
    wrong.push(`${images} images were asked for, and resume makes ${saved.length} of them`);
  if (hasReply && saved.length < images) wrong.push("its reply had arrived to the last byte, and is lost");
  return wrong;
}

async function inWorld<Result>(
  { images }: PaidScenario,
  program: Program,
  work: (world: GeneratorWorld) => Promise<Result>,
): Promise<Result> {
  const world = new GeneratorWorld(program, images);
  await world.generator.listen();
  try {
    return await work(world);
  } finally {
    await world.close();
  }
}
