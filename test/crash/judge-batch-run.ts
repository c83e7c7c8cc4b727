import { readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import type { Row } from "./batch-scenarios.ts";
import { ownImages } from "./disk.ts";
import { judgeKilled, judgeScreen } from "./judge-run.ts";
import { ledgerTasks } from "./ledger-tasks.ts";
import type { CrashWorld, Run } from "./world.ts";

/** A row's end, as scripts get it. */
export interface RowJson {
  row: number;
  ok: boolean;
  taskId: string | null;
  charged: "yes" | "no" | "unknown";
  files: { path: string | null }[];
}

interface Summary {
  rows: number;
  saved: number;
  failed: number;
  unknown: number;
  skipped: number;
}

/** What a batch has said, as far as its lines are whole. */
interface Said {
  rows: RowJson[];
  summary: Summary | null;
}

export function saidBy({ stdout }: Pick<Run, "stdout">): Said {
  const lines = stdout.split("\n").slice(0, -1);
  const objects = lines.map((line) => JSON.parse(line));
  return {
    rows: objects.filter((each) => "row" in each),
    summary: objects.find(({ type }) => type === "summary") ?? null,
  };
}

/** The rows of the manifest that a batch was given. */
export function manifestRows(world: CrashWorld, { argv }: Pick<Run, "argv">): Row[] {
  const lines = readFileSync(path.resolve(world.out, argv[1] ?? ""), "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

/** Whether it is unknown if a row was submitted. The service of these scenarios fails no task. */
export function isUnknownRow({ ok, charged }: RowJson): boolean {
  return !ok && charged === "unknown";
}

/** What is wrong right after a batch was run, whether it was killed or ended by itself. */
export function judgeBatchRun(world: CrashWorld, run: Run): string[] {
  const said = run.stdout + run.stderr;
  const wrong = [...judgeScreen(world, run), ...judgeRowsSaid(world, run)];
  if (run.signal !== null) wrong.push(...judgeKilled(world, said, ledgerTasks(world)));
  else wrong.push(...judgeBatchEnd(world, run));
  return wrong.map((what) => `${run.argv.slice(0, 2).join(" ")}: ${what}`);
}

/** Every row is reported at most once, with its own task and its own files, which are whole. */
function judgeRowsSaid(world: CrashWorld, run: Run): string[] {
  const manifest = manifestRows(world, run);
  const prompts = new Map(world.double.charges.map(({ taskId, prompt }) => [taskId, prompt]));
  const images = ownImages(world);
  const seen = new Set<unknown>();
  const once = (what: unknown) => !seen.has(what) && seen.add(what);
  return saidBy(run).rows.flatMap(({ row, taskId, files }) => {
    const { prompt, output } = manifest[row - 1] ?? {};
    const wrong: string[] = [];
    if (!once(row)) wrong.push(`row ${row} is reported twice`);
    if (taskId !== null && prompts.get(taskId) !== prompt) wrong.push(`row ${row} is not ${taskId}`);
    if (taskId !== null && !once(taskId)) wrong.push(`${taskId} is two rows'`);
    for (const { path: file } of files) {
      if (file === null || images.get(digestOf(file))?.taskId !== taskId)
        wrong.push(`${file} was printed and is not whole on disk`);
      if (output !== undefined && file !== path.join(realpathSync(world.out), output))
        wrong.push(`${file} is not ${output}`);
    }
    return wrong;
  });
}

function digestOf(file: string): string {
  try {
    return sha256(readFileSync(file));
  } catch {
    return "";
  }
}

/** A run that ended by itself has reported every row, with correct counts and credits. */
function judgeBatchEnd(world: CrashWorld, run: Run): string[] {
  const { rows, summary } = saidBy(run);
  if (run.code === 1) return [`exit 1: ${run.stdout}${run.stderr}`];
  // A disk that fails before the first row, be it at the settings, is a reason to submit nothing.
  if (summary === null && world.diskFailed && (run.code === 2 || run.code === 8) && rows.length === 0)
    return /"charged":"no"/.test(run.stdout) ? [] : [`it does not say that nothing was sent: ${run.stdout}`];
  if (summary === null) return [`exit ${run.code}: ${run.stdout}`];
  const manifest = manifestRows(world, run);
  const wrong = judgeCount(rows, summary, manifest.length);
  if ((run.code === 0) !== rows.every(({ ok }) => ok)) wrong.push(`exit ${run.code}: ${run.stdout}`);
  for (const prompt of new Set(manifest.map((row) => row.prompt))) {
    const own = rows.filter(({ row }) => manifest[row - 1]?.prompt === prompt);
    const mayBeCharged = own.filter(({ charged }) => charged !== "no").length;
    const charged = chargesSaid(world, prompt);
    if (charged > mayBeCharged) wrong.push(`"${prompt}": ${charged} charged, ${mayBeCharged} admitted`);
  }
  return wrong;
}

/** What was charged for a prompt, except dismissed requests, which no row tracks any more. */
function chargesSaid(world: CrashWorld, prompt: string): number {
  const own = ledgerTasks(world).filter((task) => task.prompt === prompt);
  const putAside = own.filter(({ last }) => last === "dismissed").length;
  return world.double.charges.filter((charge) => charge.prompt === prompt).length - putAside;
}

function judgeCount(rows: readonly RowJson[], summary: Summary, expected: number): string[] {
  const { saved, failed, unknown, skipped } = summary;
  const ok = rows.filter((row) => row.ok).length;
  const counted = [saved + skipped, unknown, failed, summary.rows, rows.length];
  const unknownRows = rows.filter(isUnknownRow).length;
  const told = [ok, unknownRows, rows.length - ok - unknownRows, expected, expected];
  return counted.join() === told.join() ? [] : [`it counts ${counted} and reports ${told}`];
}

/** Every row is saved, or said to be of unknown outcome. */
export function judgeSettled(run: Run): string[] {
  const { rows, summary } = saidBy(run);
  if (run.signal !== null) return [`${run.argv[0]} was killed`];
  if (summary === null) return [`${run.argv[0]} ends with ${run.code}: ${run.stdout}${run.stderr}`];
  const open = rows.filter((row) => !row.ok && !isUnknownRow(row));
  const expected = rows.every(({ ok }) => ok) ? 0 : 10;
  const wrong = open.map((row) => `row ${row.row} is neither saved nor unknown: ${JSON.stringify(row)}`);
  return run.code === expected ? wrong : [...wrong, `exit ${run.code}, not ${expected}`];
}
