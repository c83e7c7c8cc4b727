import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, it } from "vitest";
import { mapConcurrent } from "../../src/lib/concurrency.ts";
import { everyNth, isLongRun } from "../support/holds.ts";
import { ProgramHost } from "../support/program-host.ts";
import { BATCHES } from "./batch-scenarios.ts";
import { BUILT } from "./build-mutant.ts";
import { filesBelow, savedDigests } from "./disk.ts";
import { judgeScreen } from "./judge-run.ts";
import type { Modes, Point } from "./points.ts";
import { HOSTED } from "./providers.ts";
import { expectSound } from "./report.ts";
import type { Scenario } from "./scenarios.ts";
import { inWorld, type Outcome, pointsOf, WORKERS } from "./try-point.ts";
import type { CrashWorld, Run } from "./world.ts";

const FORGET = ["forget", "--before", "0m", "--yes", "--json"];

/** Writes a private copy that no task names, and that is old enough to be removed. */
async function leaveCopy(home: string): Promise<void> {
  const folder = path.join(home, "state", "references");
  const file = path.join(folder, `${"a".repeat(64)}.png`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, "bytes");
  const then = new Date(Date.now() - 2 * 24 * 3_600_000);
  utimesSync(file, then, then);
}

const FORGOTTEN: Scenario = {
  ...BATCHES.fresh,
  name: "forget of a batch's tasks",
  provider: { ...HOSTED, install: leaveCopy },
  steps: [...BATCHES.fresh.steps, { argv: () => FORGET, submits: [] }],
  crashed: 1,
};

/** The states that a kill leaves, and a disk that fails. */
const MODES: Modes = {
  write: ["half-written", "kill-after", "EIO"],
  create: ["kill-after", "EIO"],
  sync: ["EIO"],
  change: ["kill-after", "EIO"],
  read: ["EIO"],
};

const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const timeout = isLongRun ? 3_600_000 : 120_000;

afterAll(() => program.recovery.close());

/** The files of records, and of what is kept of them. */
function recordFiles({ home }: CrashWorld): string[] {
  const places = ["open", "done", "parts", "work", "kept", "forgotten"];
  const isIn = (name: string) => places.some((place) => name.includes(path.join("tasks", place, path.sep)));
  return filesBelow(home).filter(isIn);
}

const copies = ({ home }: CrashWorld) => readdirSync(path.join(home, "state", "references"));

/** Whether two lists of facts are the same. */
const areSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** What is wrong with the images and the provider: a forget touches neither, and no later command submits a row again. */
function judgeKept(world: CrashWorld, saved: ReturnType<typeof savedDigests>, posts: number): string[] {
  return [
    ...(areSame([...savedDigests(world)], [...saved]) ? [] : ["the output folder was changed"]),
    ...(world.double.posts === posts ? [] : ["a row was submitted again"]),
  ];
}

/** Strikes a forget, and goes on with a command that sweeps, another forget, and the batch. */
async function tryForget({ name, strike }: Point): Promise<Outcome> {
  return inWorld(FORGOTTEN, program, async (world, recover) => {
    const [batch] = FORGOTTEN.steps;
    const shown = async () => JSON.parse((await recover(["history", "--json"])).stdout);
    await world.run(batch?.argv(world) ?? []);
    const { posts } = world.double;
    const [saved, whole] = [savedDigests(world), await shown()];
    const run = await world.run(FORGET, strike);
    const wrong = [...judgeScreen(world, run), ...judgeKept(world, saved, posts)];
    if (run.code === 1) wrong.push(`exit 1: ${run.stdout}`);
    const resumed = await recover(["resume", "--json"]);
    const remaining = await shown();
    const isWhole = (task: unknown) => whole.some((each: unknown) => areSame(each, task));
    if (whole.length !== 3 || !remaining.every(isWhole))
      wrong.push(`records are not whole: ${JSON.stringify(remaining)}`);
    if (recordFiles(world).length !== remaining.length) wrong.push(`${recordFiles(world)} are left`);
    const ended: Run[] = [resumed, await recover(FORGET)];
    wrong.push(...recordFiles(world).map((file) => `${file} is left by the next forget`));
    wrong.push(...copies(world).map((file) => `the copy ${file} is left by the next forget`));
    ended.push(await recover(batch?.argv(world) ?? []));
    wrong.push(
      ...ended.filter(({ code }) => code !== 0).map(({ argv, code }) => `${argv[0]} ends with ${code}`),
    );
    wrong.push(...judgeKept(world, saved, posts));
    return { scenario: FORGOTTEN.name, point: name, struck: strike === null || run.struck, wrong };
  });
}

it("wherever a forget was stopped, a record is there whole or gone, images stay, and the batch is saved", {
  timeout,
}, async () => {
  const points = await pointsOf(FORGOTTEN, program, MODES);
  const tried = isLongRun ? points : everyNth(points, 6);
  const outcomes = await mapConcurrent([{ name: "undisturbed", strike: null }, ...tried], WORKERS, tryForget);
  expectSound("a forget, stopped once", outcomes);
});
