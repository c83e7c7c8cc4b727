import { readFileSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import {
  keptCharges,
  type LedgerTask,
  ledgerLeftovers,
  ledgerTasks,
  listing,
  ownImages,
  savedDigests,
  unsavedCharges,
} from "./disk.ts";
import { idsIn, judgeEnd, tasksOf } from "./judge-run.ts";
import { type Place, RESUME } from "./scenarios.ts";
import type { CrashWorld, Run } from "./world.ts";

/** Runs a command to its end. */
export type Recover = (argv: readonly string[]) => Promise<Run>;

/**
 * Finishes a world after its crashes with `resume`, and once more, and says what is wrong with the outcome.
 * @param runs what was run before; ids that only their screens know are resumed by name
 */
export async function judgeRecovery(
  world: CrashWorld,
  runs: readonly Run[],
  recover: Recover,
): Promise<string[]> {
  const { posts } = world.double;
  const kept = keptCharges(world);
  const first = await recover(RESUME);
  const wrong = judgeEnd(world, first).map((what) => `resume: ${what}`);
  wrong.push(...(await resumeFromScreens(world, runs, recover)));
  wrong.push(
    ...judgeCharges(world),
    ...judgeTasks(world),
    ...judgeReport(world, first, kept),
    ...judgeFiles(world),
  );
  const sent = world.double.posts;
  if (mayStay(world, "intent") && sent !== posts) wrong.push("resume has submitted");
  const settled = listing(world);
  const again = await recover(RESUME);
  // A task that has failed is at its end.
  const code = first.code === 5 ? 0 : first.code;
  if (again.code !== code) wrong.push(`a further resume ends with ${again.code}, not ${code}`);
  const changed = difference(settled, listing(world));
  if (changed.length > 0) wrong.push(`a further resume changes ${changed.join(", ")}`);
  if (world.double.posts !== sent) wrong.push("a further resume has submitted");
  return wrong;
}

/** An id that the ledger could not take was shown, and `resume <id>` works for it. */
export async function resumeFromScreens(
  world: CrashWorld,
  runs: readonly Run[],
  recover: Recover,
): Promise<string[]> {
  const known = new Set(ledgerTasks(world).flatMap(({ ids }) => ids));
  const unsaved = unsavedCharges(world);
  const wrong: string[] = [];
  for (const id of idsIn(world, runs.map(({ stderr }) => stderr).join(""))) {
    if (known.has(id) || !unsaved.has(id)) continue;
    const { code, stdout } = await recover([...RESUME, id]);
    if (code !== 0) wrong.push(`resume ${id}: exit ${code}, ${stdout}`);
  }
  return wrong;
}

/** Never two charges for one request, nor two requests where one may have been enough. */
function judgeCharges({ scenario, double }: CrashWorld): string[] {
  const { provider, steps, turnedAway } = scenario;
  const most = provider.forgets ? 2 : 1;
  const prompts = steps.flatMap(({ submits, beside }) => [...submits, ...(beside?.step.submits ?? [])]);
  const wrong = [...new Set(prompts)].flatMap((prompt) => {
    const asked = prompts.filter((other) => other === prompt).length;
    const charged = double.charges.filter((charge) => charge.prompt === prompt).length;
    return charged > asked * most
      ? [`"${prompt}" was asked for ${asked} times and charged ${charged} times`]
      : [];
  });
  if (double.posts > prompts.length * most + turnedAway) wrong.push(`${double.posts} requests were sent`);
  return wrong;
}

const FINISHED = new Set(["saved", "refused", "not_sent", "failed", "dismissed", "stub"]);

/** Whether what came of a request may stay unknown, with such a record as its last. */
function mayStay({ scenario }: CrashWorld, state: string): boolean {
  return scenario.provider.unknown.has(state);
}

/** How many of a task's requests are of unknown outcome. */
export function unknownIn(world: CrashWorld, { states }: LedgerTask): number {
  return states.filter((state) => mayStay(world, state)).length;
}

/** Every task of the ledger has come to its end, and says so whole and once. */
export function judgeTasks(world: CrashWorld): string[] {
  const { givesIds, forgets } = world.scenario.provider;
  const unsaved = unsavedCharges(world);
  return ledgerTasks(world).flatMap(({ file, last, states, ids, saves }) => {
    const isMade = (state: string) =>
      last.endsWith("saved") && (state === "completed" || states.length === 1);
    const isAtEnd = (state: string) => FINISHED.has(state) || mayStay(world, state) || isMade(state);
    const wrong = states.filter((state) => !isAtEnd(state)).map((state) => `${file} stays ${state}`);
    if (last === "saved" && givesIds && ids.length === 0)
      wrong.push(`${file} is saved, and its task id is lost`);
    if (saves > 1 && !world.diskFailed) wrong.push(`${file} was saved by two processes`);
    if (!(forgets && last === "failed") && ids.some((id) => unsaved.has(id)))
      wrong.push(`${file} is in the ledger and not saved`);
    return wrong;
  });
}

/**
 * What was charged and is not saved was reported as lost, and nothing is left of the crashed processes.
 * @param kept charges whose reply lay whole on the disk
 */
function judgeReport(world: CrashWorld, resumed: Run, kept: readonly string[]): string[] {
  const { forgets } = world.scenario.provider;
  const wrong: string[] = [];
  const tasks = ledgerTasks(world);
  const types = ["outcome_unknown", "partial", ...(forgets ? ["generation_failed"] : [])];
  const reported = (tasksOf(resumed) ?? []).filter(({ error }) => types.includes(error?.type ?? "")).length;
  const lost = unsavedCharges(world);
  if (lost.size > reported * Math.max(1, ...tasks.map(({ states }) => states.length)))
    wrong.push(`${[...lost].join(", ")}: charged, and neither saved nor reported (${reported} reported)`);
  // What a server has forgotten cannot be had by its name.
  for (const id of kept)
    if (lost.has(id) && !forgets) wrong.push(`${id}: its reply had arrived to the last byte, and is lost`);
  const code = Math.max(0, ...tasks.map((task) => codeOf(world, task)));
  if (resumed.code !== code && !(code === 5 && resumed.code === 0))
    wrong.push(`resume ends with ${resumed.code}, not ${code}`);
  const unknown = tasks.filter((task) => unknownIn(world, task) > 0);
  const replies = unknown.map(({ file }) => path.join("work", path.parse(file).name));
  const left = ledgerLeftovers(world).filter((name) => !replies.some((folder) => name.includes(folder)));
  return [...wrong, ...left.map((name) => `${name} is left in the ledger`)];
}

/** With what a resume ends that leaves a task so: 10 where only some of its images are unknown. */
function codeOf(world: CrashWorld, task: LedgerTask): number {
  if (unknownIn(world, task) > 0) return task.last.endsWith("saved") ? 10 : 9;
  return task.last === "failed" ? 5 : 0;
}

/** What proves that a folder can be written to: a crash may leave one, and the next proof removes it. */
const PROBE = /^\.imggen\b.*\.probe$/;
/** What a crashed download left, or a reservation of a name. */
const TEMPORARY = /^\.imggen\b.*\.(part|claim-\d+\.\w+)$/;

/** The id of a batch's folder, and what a crash while it was made has left. */
const FOLDER_ID = /^\.imggen-batch$/;
const FOLDER_ID_DRAFT = /^\.\.imggen-batch\.[0-9a-f]{8}$/;

/** Every file is a whole image, at its place and only there; what the user had is as it was. */
export function judgeFiles(world: CrashWorld): string[] {
  const images = ownImages(world);
  const { givesIds } = world.scenario.provider;
  const known = new Set(ledgerTasks(world).flatMap(({ ids }) => ids));
  const digests = savedDigests(world);
  const wrong: string[] = [];
  for (const [name, bytes] of Object.entries(world.scenario.before)) {
    if (digests.get(name) !== sha256(bytes)) wrong.push(`${name}, a file of the user's, was changed`);
    digests.delete(name);
  }
  const names = [...digests.keys()];
  for (const kind of [PROBE, FOLDER_ID, FOLDER_ID_DRAFT])
    digests.delete(names.find((name) => kind.test(name)) ?? "");
  wrong.push(...judgeSidecars(world, digests));
  // A disk may fail at the very moment of tidying up.
  if (world.diskFailed) digests.delete(names.find((name) => TEMPORARY.test(name)) ?? "");
  for (const [name, digest] of digests) {
    const image = images.get(digest);
    if (!image) wrong.push(`${name} is left in the output folder, and is no whole image`);
    // The request of a task that the ledger never got is not known.
    else if (!isAt(name, image.place) && (known.has(image.taskId) || !givesIds))
      wrong.push(`${name} is not at ${image.place}`);
  }
  if (new Set(digests.values()).size < digests.size)
    wrong.push(`an image is saved twice: ${[...digests.keys()]}`);
  return wrong;
}

function isAt(name: string, place: Place): boolean {
  return typeof place === "string" ? name === place : place.test(name);
}

const SIDECAR = /\.json$/;

/**
 * Every sidecar is whole and beside the image that it describes, and where they are wanted each saved image has one.
 * @param digests of the files in the output folder, by name; sidecars are removed from it
 */
function judgeSidecars(world: CrashWorld, digests: Map<string, string>): string[] {
  const sidecars = [...digests.keys()].filter((name) => SIDECAR.test(name));
  const wrong = sidecars.filter((name) => {
    digests.delete(name);
    return sha256In(path.join(world.out, name)) !== digests.get(name.replace(SIDECAR, ""));
  });
  const wanted = world.scenario.sidecars && !world.diskFailed ? [...digests.keys()] : [];
  const missing = wanted.filter((name) => /\.png$/.test(name) && !sidecars.includes(`${name}.json`));
  return [
    ...wrong.map((name) => `${name} is no sidecar of the image beside it`),
    ...missing.map((name) => `${name} was saved without its sidecar`),
  ];
}

/** What a sidecar says of its image; null for a file that is not whole. */
function sha256In(sidecar: string): string | null {
  try {
    return JSON.parse(readFileSync(sidecar, "utf8")).sha256;
  } catch {
    return null;
  }
}

/** The lines of two listings that are in one of them alone. */
export function difference(before: readonly string[], after: readonly string[]): string[] {
  const added = after.filter((line) => !before.includes(line)).map((line) => `+${line}`);
  return [...before.filter((line) => !after.includes(line)).map((line) => `-${line}`), ...added];
}
