import path from "node:path";
import { ageLeftovers, keptCharges, ledgerLeftovers, listing, unsavedCharges } from "./disk.ts";
import { judgeFiles } from "./judge-files.ts";
import { idsIn, judgeEnd, tasksOf } from "./judge-run.ts";
import { judgeSpending } from "./judge-spending.ts";
import { type LedgerTask, ledgerTasks } from "./ledger-tasks.ts";
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
  const { posts } = world.double;
  const kept = keptCharges(world);
  ageLeftovers(world);
  const first = await recover(RESUME);
  const wrong = judgeEnd(world, first).map((what) => `resume: ${what}`);
  wrong.push(...(await resumeFromScreens(world, runs, recover)));
  wrong.push(
    ...judgeCharges(world),
    ...judgeTasks(world),
    ...judgeReport(world, first, kept),
    ...judgeSpending(world, runs),
    ...judgeFiles(world),
  );
  const sent = world.double.posts;
  if (!world.scenario.provider.keepsUnsent && sent !== posts) wrong.push("resume has submitted");
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

/** Whether a request may stay in this state: what came of it is unknown. */
function mayStay({ scenario }: CrashWorld, state: string): boolean {
  return state === "unknown" && scenario.provider.leavesUnknown;
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
  const replies = unknown.map(({ id }) => path.join("work", id));
  const left = ledgerLeftovers(world).filter((name) => !replies.some((folder) => name.includes(folder)));
  return [...wrong, ...left.map((name) => `${name} is left in the ledger`)];
}

/** With what a resume ends that leaves a task so: 10 where only some of its images are unknown. */
function codeOf(world: CrashWorld, task: LedgerTask): number {
  if (unknownIn(world, task) > 0) return task.last.endsWith("saved") ? 10 : 9;
  return task.last === "failed" ? 5 : 0;
}

/** The lines of two listings that are in one of them alone. */
export function difference(before: readonly string[], after: readonly string[]): string[] {
  const added = after.filter((line) => !before.includes(line)).map((line) => `+${line}`);
  return [...before.filter((line) => !after.includes(line)).map((line) => `-${line}`), ...added];
}
