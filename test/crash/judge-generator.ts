import { mapConcurrent } from "../../src/lib/concurrency.ts";
import { sha256 } from "../support/images.ts";
import { type GeneratorRun, type GeneratorStrike, GeneratorWorld } from "./generator-world.ts";
import type { Operation } from "./operations.ts";
import { MOMENTS } from "./paid-generator.ts";
import { diskPoints, type Modes } from "./points.ts";
import { type Outcome, type Program, WORKERS } from "./try-point.ts";

const SCENARIO = "generate with a paid generator";

export interface GeneratorPoint {
  name: string;
  strike: GeneratorStrike;
  /** Whether the ledger had the task's id by then, and the disk the whole reply: nothing may be lost any longer. */
  hasReply: boolean;
}

/** Strikes a generate at each operation on its task's files, and at each moment of its paid request. */
export async function tryGenerator(modes: Modes, program: Program): Promise<Outcome[]> {
  const points = await generatorPoints(modes, program);
  return mapConcurrent(points, WORKERS, (point) => tryGeneratorPoint(point, program));
}

/** Where it can be struck, learned from a run that nothing happens to. */
export async function generatorPoints(modes: Modes, program: Program): Promise<GeneratorPoint[]> {
  return inWorld(program, async (world) => {
    await world.generate();
    const { operations, unwatched } = world.log();
    if (unwatched.length > 0) throw new Error(`not watched: ${unwatched}`);
    const first = numberOf(operations, ({ file }) => /tasks\/open\/[^/]+\.jsonl$/.test(file));
    const reply = numberOf(operations, ({ name, file }) => name === "close" && /\breply$/.test(file));
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

function numberOf(operations: readonly Operation[], is: (operation: Operation) => boolean): number {
  const number = operations.find(is)?.number;
  if (number === undefined) throw new Error("the run has no such operation");
  return number;
}

/** Strikes a generate at one point, resumes, and judges. */
export async function tryGeneratorPoint(
  { name, strike, hasReply }: GeneratorPoint,
  program: Program,
): Promise<Outcome> {
  return inWorld(program, async (world) => {
    const run = await world.generate(strike);
    const first = await world.resume();
    const wrong = judge(world, hasReply, [run, first]);
    const requests = world.generator.requests.length;
    const saved = world.saved().join();
    const again = await world.resume();
    if (again.code !== first.code) wrong.push(`a further resume ends with ${again.code}, not ${first.code}`);
    if (world.generator.requests.length !== requests) wrong.push("a further resume sends a request");
    if (world.saved().join() !== saved) wrong.push("a further resume changes the images");
    return { scenario: SCENARIO, point: name, struck: run.struck, wrong };
  });
}

/** At most one request, and what was paid for is saved, or reported as unknown. */
function judge(world: GeneratorWorld, hasReply: boolean, [run, resumed]: readonly GeneratorRun[]): string[] {
  const { generator } = world;
  const wrong: string[] = [];
  if (generator.requests.length > 1) wrong.push(`${generator.requests.length} requests were sent`);
  const image = sha256(generator.image(1));
  const saved = world.saved();
  if (saved.some((digest) => digest !== image)) wrong.push("a file is left that is no whole image");
  if (saved.length > 1) wrong.push("the image is saved twice");
  const isUnknown = [run, resumed].some((each) => each?.code === 9);
  if (generator.paid.length > 0 && saved.length === 0 && !isUnknown) {
    wrong.push(`it is paid for, and neither saved nor reported (exit ${run?.code}, then ${resumed?.code})`);
  }
  if (hasReply && saved.length === 0) wrong.push("its reply had arrived to the last byte, and is lost");
  return wrong;
}

async function inWorld<Result>(
  program: Program,
  work: (world: GeneratorWorld) => Promise<Result>,
): Promise<Result> {
  const world = new GeneratorWorld(program);
  await world.generator.listen();
  try {
    return await work(world);
  } finally {
    await world.close();
  }
}
