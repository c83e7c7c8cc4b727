import { realpathSync } from "node:fs";
import path from "node:path";
import { claimedTasks, strayFiles } from "./batch-disk.ts";
import type { BatchScenario } from "./batch-scenarios.ts";
import { ageLeftovers, listing, savedDigests, unsavedCharges } from "./disk.ts";
import {
  isUnknownRow,
  judgeBatchRun,
  judgeSettled,
  manifestRows,
  type RowJson,
  saidBy,
} from "./judge-batch-run.ts";
import { judgeFiles } from "./judge-files.ts";
import { difference, judgeTasks, type Recover, resumeFromScreens, unknownIn } from "./judge-recovery.ts";
import { judgeSpending } from "./judge-spending.ts";
import { ledgerTasks } from "./ledger-tasks.ts";
import { RESUME } from "./scenarios.ts";
import type { CrashWorld, Run } from "./world.ts";

/**
 * Finishes a batch after its crashes with the same command again, and says what is wrong with the outcome:
 * with what was submitted and saved, with a further run, and with submitting what is of unknown outcome once more.
 */
export async function judgeBatchRecovery(
  world: CrashWorld,
  batch: BatchScenario,
  runs: readonly Run[],
  recover: Recover,
): Promise<string[]> {
  batch.between(world);
  ageLeftovers(world);
  if (batch.resumeFirst) await recover(RESUME);
  const first = await recover(batch.again(world));
  const wrong = [...judgeBatchRun(world, first), ...judgeSettled(first)];
  const { posts } = world.double;
  wrong.push(...(await resumeFromScreens(world, runs, recover)));
  // What no row asks for any more is finished by `resume` alone.
  wrong.push(...judgeResume(world, await recover(RESUME)));
  wrong.push(...judgePurchases(world, batch), ...judgeDisk(world), ...judgeSaved(world, first));
  if (!batch.isCleared) wrong.push(...judgeSpending(world, runs));
  wrong.push(...runs.flatMap((run) => judgeWord(world, run, first)));
  wrong.push(...(await judgeFurtherRun(world, batch, first, recover)));
  if (world.double.posts !== posts) wrong.push("a further run has submitted");
  wrong.push(...(await judgeResubmit(world, batch, first, recover)));
  return wrong;
}

function judgeResume(world: CrashWorld, { code }: Run): string[] {
  const unknown = ledgerTasks(world).filter((task) => unknownIn(world, task) > 0).length;
  return code === (unknown > 0 ? 9 : 0) ? [] : [`resume ends with ${code}, ${unknown} unknown`];
}

/** No row is sent twice, but for what a step was told to submit again; what is lost is on record as unknown. */
function judgePurchases(world: CrashWorld, { rows, boughtAgain, isCleared }: BatchScenario): string[] {
  const { posted, charges } = world.double;
  const unsaved = unsavedCharges(world);
  const unknown = ledgerTasks(world).filter(
    (task) => unknownIn(world, task) > 0 || task.last === "dismissed",
  );
  return [...new Set(posted)].flatMap((prompt) => {
    const of = (each: { prompt: string | null }) => each.prompt === prompt;
    const asked = [...rows, ...boughtAgain].filter(of).length;
    const sent = posted.filter((other) => other === prompt).length;
    const lost = charges.filter((charge) => of(charge) && unsaved.has(charge.taskId)).length;
    const reported = isCleared ? lost : unknown.filter(of).length;
    return [
      ...(sent > asked ? [`"${prompt}" was asked for ${asked} times and sent ${sent} times`] : []),
      ...(lost > reported ? [`"${prompt}": ${lost} charged and not saved, ${reported} unknown`] : []),
    ];
  });
}

/** A row that was saved is not of unknown outcome later, nor one that was said to have cost nothing. */
function judgeWord(world: CrashWorld, run: Run, first: Run): string[] {
  const promptsOf = (of: Run, wanted: (row: RowJson) => boolean) => {
    const manifest = manifestRows(world, of);
    return saidBy(of)
      .rows.filter(wanted)
      .map(({ row }) => manifest[row - 1]?.prompt);
  };
  const free = promptsOf(run, ({ ok, charged }) => ok || charged === "no");
  const unknown = promptsOf(first, isUnknownRow);
  return [...new Set(free)].flatMap((prompt) => {
    const of = (other: string | undefined) => other === prompt;
    const rows = manifestRows(world, first).filter((row) => row.prompt === prompt).length;
    const [said, now] = [free.filter(of).length, unknown.filter(of).length];
    return said + now > rows ? [`"${prompt}" was saved or cost nothing, and is of unknown outcome`] : [];
  });
}

/** Every file is a whole image at its place, every task has come to its end, and is some row's. */
function judgeDisk(world: CrashWorld): string[] {
  const wrong = [...judgeTasks(world), ...judgeFiles(world)];
  const claimed = claimedTasks(world);
  if (new Set(claimed).size < claimed.length) wrong.push("two rows have the same task");
  for (const { id, file } of ledgerTasks(world)) if (!claimed.includes(id)) wrong.push(`${file} is no row's`);
  return [...wrong, ...strayFiles(world).map((name) => `${name} is left in the ledger`)];
}

/** As many images as rows are saved, but for what `resume` has found by an id from the screen. */
function judgeSaved(world: CrashWorld, run: Run): string[] {
  const files = saidBy(run).rows.flatMap((row) => row.files.map((file) => file.path));
  const out = realpathSync(world.out);
  const there = new Set([...savedDigests(world).keys()].map((name) => path.join(out, name)));
  const missing = files.filter((file) => file === null || !there.has(file));
  return missing.map((file) => `${file} was saved and is gone`);
}

/** The same command once more changes nothing and says the same. */
async function judgeFurtherRun(
  world: CrashWorld,
  batch: BatchScenario,
  first: Run,
  recover: Recover,
): Promise<string[]> {
  const settled = listing(world);
  const again = await recover(batch.again(world));
  const wrong = [...judgeBatchRun(world, again), ...judgeSettled(again)];
  if (again.code !== first.code) wrong.push(`a further run ends with ${again.code}, not ${first.code}`);
  const changed = difference(settled, listing(world));
  if (changed.length > 0) wrong.push(`a further run changes ${changed.join(", ")}`);
  return wrong;
}

/** With `--resubmit-unknown` every row of unknown outcome is submitted again, and then all are saved. */
async function judgeResubmit(
  world: CrashWorld,
  batch: BatchScenario,
  first: Run,
  recover: Recover,
): Promise<string[]> {
  const unknown = saidBy(first).rows.filter(isUnknownRow).length;
  if (unknown === 0) return [];
  const { posts } = world.double;
  const bought = await recover([...withoutBudget(batch.again(world)), "--resubmit-unknown"]);
  // What the user cleared away is charged and not dismissed.
  const wrong = batch.isCleared ? [] : judgeBatchRun(world, bought);
  if (bought.code !== 0) wrong.push(`--resubmit-unknown ends with ${bought.code}: ${bought.stdout}`);
  const sent = world.double.posts - posts;
  if (sent !== unknown) wrong.push(`--resubmit-unknown has sent ${sent}, with ${unknown} rows unknown`);
  wrong.push(...judgeDisk(world), ...judgeResume(world, await recover(RESUME)));
  return wrong;
}

/** What is submitted again counts for the budget of the whole too. */
function withoutBudget(argv: readonly string[]): string[] {
  const at = argv.indexOf("--max-credits");
  return at === -1 ? [...argv] : [...argv.slice(0, at), "--yes", ...argv.slice(at + 2)];
}
