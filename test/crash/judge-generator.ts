import { mapConcurrent } from "../../src/lib/concurrency.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { everyNth, isLongRun } from "../support/holds.ts";
import { sha256 } from "../support/images.ts";
import { ComfyGenerator } from "./comfy-generator.ts";
import {
  type CrashGenerator,
  type GeneratorRun,
  type GeneratorStrike,
  GeneratorWorld,
} from "./generator-world.ts";
import type { Operation } from "./operations.ts";
import { atEach } from "./pairs.ts";
import { diskPoints, type Modes, pointsBetween } from "./points.ts";
import { imageGenerator, jobGenerator } from "./service-generator.ts";
import { type Outcome, type Program, WORKERS } from "./try-point.ts";

/** What is tried: a generate of so many images. */
export interface GeneratorScenario {
  name: string;
  images: number;
  generator: () => CrashGenerator;
  /** Whether the generator can tell what became of a request, so that none is ever of unknown outcome. */
  isAskable: boolean;
  /** Whether the generator loses its jobs between the crash and the resume: then each may be sent once more. */
  forgets: boolean;
  /** Those of its points that a quick run tries. */
  quickPart: (points: GeneratorPoint[]) => GeneratorPoint[];
}

export const ONE_IMAGE: GeneratorScenario = {
  name: "generate with a paid generator",
  images: 1,
  generator: imageGenerator,
  isAskable: false,
  forgets: false,
  quickPart: (points) => [
    ...points.filter(isOfItsOwn),
    ...everyNth(
      points.filter((point) => !isOfItsOwn(point)),
      2,
    ),
  ],
};

export const TWO_IMAGES: GeneratorScenario = {
  ...ONE_IMAGE,
  name: "generate of two images with a paid generator",
  images: 2,
  // What comes before and after is the same as with one image.
  quickPart: (points) => pointsBetween(points, / close reply$/, / link .*-2\.png$/).filter(isOfItsOwn),
};

export const WITH_ID: GeneratorScenario = {
  ...ONE_IMAGE,
  name: "generate with a paid service that gives an id",
  generator: () => jobGenerator(REPLICATE),
  quickPart: (points) => points.filter(isOfItsOwn),
};

export const COMFYUI: GeneratorScenario = {
  ...ONE_IMAGE,
  name: "generate with ComfyUI",
  generator: () => new ComfyGenerator(),
  isAskable: true,
  quickPart: (points) => points.filter(isOfItsOwn),
};

export const FORGETFUL: GeneratorScenario = {
  ...COMFYUI,
  name: "generate with a ComfyUI that loses its queue and history",
  forgets: true,
  quickPart: (points) => points.filter(({ strike }) => "moment" in strike),
};

/** What an image of the hosted service does not do as well: the exchange with a generator, and the records of that. */
function isOfItsOwn({ name, strike }: GeneratorPoint): boolean {
  return "moment" in strike || / (write|close) ([^.]*\.jsonl|reply)$/.test(name);
}

export interface GeneratorPoint {
  name: string;
  strike: GeneratorStrike;
  /** Whether the ledger had the task's id by then, and the disk the whole reply: nothing may be lost any longer. */
  hasReply: boolean;
}

/** Strikes a generate at each operation on its task's files, and at each moment of its paid request. */
export async function tryGenerator(
  scenario: GeneratorScenario,
  modes: Modes,
  program: Program,
): Promise<Outcome[]> {
  const all = await generatorPoints(scenario, modes, program);
  const points = isLongRun ? all : scenario.quickPart(all);
  return mapConcurrent(points, WORKERS, (point) => tryGeneratorPoint(scenario, point, program));
}

/** Where it can be struck, learned from a run that nothing happens to. */
export async function generatorPoints(
  scenario: GeneratorScenario,
  modes: Modes,
  program: Program,
): Promise<GeneratorPoint[]> {
  return inWorld(scenario, program, async (world) => {
    await world.generate();
    const { moments } = world;
    const { operations, unwatched } = world.log();
    if (unwatched.length > 0) throw new Error(`not watched: ${unwatched}`);
    const first = numberOf(operations, ({ file }) => /tasks\/open\/[^/]+\.jsonl$/.test(file));
    // Of the last request: by then, the replies to all have arrived.
    const reply = lastOf(operations, ({ name, file }) => name === "close" && /\breply$/.test(file));
    const ofMoments = [...new Set(moments)].map((moment) => ({
      name: `kill at ${moment}`,
      strike: { moment },
      // Who polls knows the job's id, and the ledger has to know it too.
      hasReply: /^(poll|file): /.test(moment),
    }));
    const ofTask = operations.filter(({ number, file }) => number >= first && !/\.lock\b/.test(file));
    const disk = diskPoints(ofTask, modes).flatMap(({ name, strike }) => {
      if (strike === null || strike.at === null) return [];
      const isAfter = strike.at > reply || (strike.at === reply && strike.mode === "kill-after");
      return [{ name, strike, hasReply: isAfter && strike.mode.startsWith("kill") }];
    });
    return [...ofMoments, ...disk];
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

/** What happens between a struck generate and the resume that finishes it. @returns what is wrong, in words */
type Between = (world: GeneratorWorld) => Promise<string[]>;

/** Strikes a generate at one point, resumes, and judges. */
export async function tryGeneratorPoint(
  scenario: GeneratorScenario,
  { name, strike, hasReply }: GeneratorPoint,
  program: Program,
  between: Between = async () => [],
): Promise<Outcome> {
  return inWorld(scenario, program, async (world) => {
    const run = await world.generate(strike);
    if (scenario.forgets) world.generator.forget();
    const wrong = await between(world);
    const first = await world.resume();
    const isKilled = "moment" in strike || strike.mode.startsWith("kill");
    wrong.push(...judge(world, scenario, { hasReply, isKilled }, [run, first]));
    const { requests } = world.generator;
    const saved = world.saved().join();
    const again = await world.resume();
    // A task that has failed is at its end.
    const code = first.code === 5 ? 0 : first.code;
    if (again.code !== code) wrong.push(`a further resume ends with ${again.code}, not ${code}`);
    if (world.generator.requests !== requests) wrong.push("a further resume sends a request");
    if (world.saved().join() !== saved) wrong.push("a further resume changes the images");
    return { scenario: scenario.name, point: name, struck: run.struck, wrong };
  });
}

/** How many operations a resume takes, at most. */
const RESUME_OPERATIONS = 90;

/**
 * Strikes a generate at one point, and the resume after it at one of its operations, each in turn: some bugs show only
 * when the second run crashes as well. Where the resume ended before that, the try does not count.
 */
export async function tryStruckResumes(
  scenario: GeneratorScenario,
  point: GeneratorPoint,
  program: Program,
): Promise<Outcome[]> {
  const strikes = everyNth(atEach(RESUME_OPERATIONS, "kill-after"), 20);
  const tried = await mapConcurrent(strikes, WORKERS, async (strike) => {
    let isStruck = false;
    const outcome = await tryGeneratorPoint(scenario, point, program, async (world) => {
      isStruck = (await world.resumeStruck(strike)).struck;
      return [];
    });
    return { ...outcome, point: `${point.name}; then ${JSON.stringify(strike)}`, isStruck };
  });
  return tried.filter(({ isStruck, wrong }) => isStruck || wrong.length > 0);
}

/**
 * Strikes a generate as if on another host, of which nobody can ask whether it lives: a resume here leaves its task
 * alone until its time is up, and finishes it then.
 */
export function tryOnAnotherHost(
  scenario: GeneratorScenario,
  point: GeneratorPoint,
  program: Program,
): Promise<Outcome> {
  return tryGeneratorPoint(scenario, point, program, async (world) => {
    const { requests } = world.generator;
    world.rewriteState(/"(host|boot|pidNamespace)":"[^"]*"/g, '"$1":"elsewhere"');
    const { code } = await world.resume();
    const isSent = world.generator.requests > requests;
    world.rewriteState(/"until":"[^"]*"/g, '"until":"2020-01-01T00:00:00.000Z"');
    return [
      ...(isSent ? ["a resume beside another host's process sends a request"] : []),
      ...(code === 6 ? [] : [`a resume beside another host's process ends with ${code}`]),
    ];
  });
}

/** At most one request for an image, and what was paid for is saved, or reported as unknown. */
function judge(
  world: GeneratorWorld,
  { isAskable, forgets }: GeneratorScenario,
  { hasReply, isKilled }: { hasReply: boolean; isKilled: boolean },
  [run, resumed]: readonly GeneratorRun[],
): string[] {
  const wrong: string[] = [];
  const { generator, images } = world;
  const { requests } = generator;
  if (requests > images * (forgets ? 2 : 1)) wrong.push(`${requests} requests were sent`);
  const made = new Set(generator.made.map(sha256));
  const saved = world.saved();
  if (saved.some((digest) => !made.has(digest))) wrong.push("a file is left that is no whole image");
  if (saved.length > new Set(saved).size) wrong.push("an image is saved twice");
  // A disk may refuse to remove one.
  if (isKilled && world.drafts().length > 0) wrong.push("a temporary file is left");
  // 10: some are saved, and others named as lost. 5: the generator no longer knows what it had accepted.
  const reports = forgets ? [5] : isAskable ? [] : [9, 10];
  const isReported = [run, resumed].some((each) => reports.includes(each?.code ?? 0));
  if (saved.length < Math.min(made.size, images) && !isReported) {
    wrong.push(`it was made, and is neither saved nor reported (exit ${run?.code}, then ${resumed?.code})`);
  }
  // A disk that fails may keep the rest from being sent; a kill is all the same to the next process.
  if (isKilled && requests > 0 && saved.length < images && !isReported)
    wrong.push(`${images} images were asked for, and resume makes ${saved.length} of them`);
  // A reply with an id is worth nothing where the server has forgotten the job: that is reported, above.
  if (hasReply && !forgets && saved.length < images)
    wrong.push("its reply had arrived to the last byte, and is lost");
  return wrong;
}

async function inWorld<Result>(
  { images, generator }: GeneratorScenario,
  program: Program,
  work: (world: GeneratorWorld) => Promise<Result>,
): Promise<Result> {
  const world = new GeneratorWorld(program, images, generator());
  await world.generator.listen();
  try {
    return await work(world);
  } finally {
    await world.close();
  }
}
