import { readFileSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import { ledgerLeftovers, ledgerTasks, listing, ownImages, savedDigests, unsavedCharges } from "./disk.ts";
import { idsIn, judgeEnd, tasksOf } from "./judge-run.ts";
import { RESUME } from "./scenarios.ts";
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
  const { posts } = world.service;
  const first = await recover(RESUME);
  const wrong = judgeEnd(world, first).map((what) => `resume: ${what}`);
  wrong.push(...(await resumeFromScreens(world, runs, recover)));
  wrong.push(
    ...judgeCharges(world),
    ...judgeTasks(world),
    ...judgeReport(world, first),
    ...judgeFiles(world),
  );
  const settled = listing(world);
  const again = await recover(RESUME);
  if (again.code !== first.code) wrong.push(`a further resume ends with ${again.code}, not ${first.code}`);
  const changed = difference(settled, listing(world));
  if (changed.length > 0) wrong.push(`a further resume changes ${changed.join(", ")}`);
  if (world.service.posts !== posts) wrong.push("resume has submitted");
  return wrong;
}

/** An id that the ledger could not take was shown, and `resume <id>` works for it. */
export async function resumeFromScreens(
  world: CrashWorld,
  runs: readonly Run[],
  recover: Recover,
): Promise<string[]> {
  const known = new Set(ledgerTasks(world).map(({ taskId }) => taskId));
  const unsaved = unsavedCharges(world);
  const wrong: string[] = [];
  for (const id of idsIn(runs.map(({ stderr }) => stderr).join(""))) {
    if (known.has(id) || !unsaved.has(id)) continue;
    const { code, stdout } = await recover([...RESUME, id]);
    if (code !== 0) wrong.push(`resume ${id}: exit ${code}, ${stdout}`);
  }
  return wrong;
}

/** Never two charges for one request. */
function judgeCharges({ scenario, service }: CrashWorld): string[] {
  const prompts = scenario.steps.flatMap(({ submits, beside }) => [
    ...submits,
    ...(beside?.step.submits ?? []),
  ]);
  return [...new Set(prompts)].flatMap((prompt) => {
    const asked = prompts.filter((other) => other === prompt).length;
    const charged = service.charges.filter((charge) => charge.prompt === prompt).length;
    return charged > asked ? [`"${prompt}" was asked for ${asked} times and charged ${charged} times`] : [];
  });
}

const FINISHED = new Set(["saved", "refused", "not_sent", "failed", "dismissed"]);
export const UNKNOWN: ReadonlySet<string> = new Set(["intent", "submitting", "unknown"]);

/** Every task of the ledger has come to its end, and says so whole and once. */
export function judgeTasks(world: CrashWorld): string[] {
  const unsaved = unsavedCharges(world);
  return ledgerTasks(world).flatMap(({ file, last, taskId, saves }) => {
    const wrong: string[] = [];
    if (!FINISHED.has(last) && !UNKNOWN.has(last) && last !== "stub") wrong.push(`${file} stays ${last}`);
    if (last === "saved" && taskId === null) wrong.push(`${file} is saved, and its task id is lost`);
    if (saves > 1 && !world.diskFailed) wrong.push(`${file} was saved by two processes`);
    if (taskId !== null && unsaved.has(taskId)) wrong.push(`${file} is in the ledger and not saved`);
    return wrong;
  });
}

/** What was charged and is not saved was reported as unknown, and nothing is left of the crashed processes. */
function judgeReport(world: CrashWorld, resumed: Run): string[] {
  const wrong: string[] = [];
  const reported = (tasksOf(resumed) ?? []).filter(({ error }) => error?.type === "outcome_unknown").length;
  const lost = [...unsavedCharges(world)];
  if (lost.length > reported) {
    wrong.push(`${lost.join(", ")}: charged, and neither saved nor reported (${reported} unknown)`);
  }
  const unknown = ledgerTasks(world).filter(({ last }) => UNKNOWN.has(last)).length;
  if (resumed.code !== (unknown > 0 ? 9 : 0))
    wrong.push(`resume ends with ${resumed.code}, ${unknown} unknown`);
  return [...wrong, ...ledgerLeftovers(world).map((name) => `${name} is left in the ledger`)];
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
  const known = new Set(ledgerTasks(world).map(({ taskId }) => taskId));
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
    else if (name !== image.place && known.has(image.taskId)) wrong.push(`${name} is not at ${image.place}`);
  }
  if (new Set(digests.values()).size < digests.size)
    wrong.push(`an image is saved twice: ${[...digests.keys()]}`);
  return wrong;
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
