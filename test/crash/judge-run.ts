import { readFileSync } from "node:fs";
import { sha256 } from "../support/images.ts";
import { ownImages } from "./disk.ts";
import type { Charge } from "./double.ts";
import { type LedgerTask, ledgerTasks } from "./ledger-tasks.ts";
import { KEY } from "./providers.ts";
import type { CrashWorld, Run } from "./world.ts";

interface TaskJson {
  ok: boolean;
  taskId?: string | null;
  charged?: "yes" | "no" | "unknown";
  error?: { type: string };
  files?: { path: string | null }[];
}

/** What is wrong right after a run, whether it was killed or ended by itself. */
export function judgeRun(world: CrashWorld, run: Run, tasks = ledgerTasks(world)): string[] {
  const said = run.stdout + run.stderr;
  const wrong = judgeScreen(world, run);
  for (const file of printedFiles(run)) {
    if (!isOwnImage(world, file)) wrong.push(`${file} was printed and is not whole on disk`);
  }
  return [...wrong, ...(run.signal === null ? judgeEnd(world, run, tasks) : judgeKilled(world, said, tasks))];
}

/** What no run may show, and whether it came to an end, and all that it did to the disk was seen. */
export function judgeScreen(world: CrashWorld, { argv, signal, stdout, stderr }: Run): string[] {
  const said = stdout + stderr;
  const wrong = world.log().unwatched.map((name) => `not watched: ${name}`);
  if (signal === "SIGABRT") wrong.push(`${argv[0]} does not end: ${stderr}`);
  if (said.includes(KEY)) wrong.push("the key was shown");
  if (/^\s+at .+:\d+:\d+\)?$/m.test(said)) wrong.push("a stack trace was shown");
  return wrong;
}

/** Nothing may follow from an id that only the process knows, unless the disk refused it. */
export function judgeKilled(world: CrashWorld, said: string, tasks: readonly LedgerTask[]): string[] {
  if (world.diskFailed || !world.scenario.provider.givesIds) return [];
  const inLedger = new Set(tasks.flatMap(({ ids }) => ids));
  const printed = idsIn(world, said).filter((id) => !inLedger.has(id));
  const polled = [...world.double.polled].filter((id) => !inLedger.has(id));
  return [
    ...printed.map((id) => `${id} was printed before it was on disk`),
    ...polled.map((id) => `${id} was polled before it was on disk`),
  ];
}

/** The provider's names of jobs in a text. */
export function idsIn({ double }: CrashWorld, text: string): string[] {
  return double.charges.map(({ taskId }) => taskId).filter((id) => text.includes(id));
}

/** The tasks of a run's JSON document; null if there is no whole one. */
export function tasksOf({ stdout }: Pick<Run, "stdout">): TaskJson[] | null {
  try {
    const json = JSON.parse(stdout);
    return json.tasks ?? [json];
  } catch {
    return null;
  }
}

function printedFiles(run: Run): string[] {
  return (tasksOf(run) ?? []).flatMap(({ files = [] }) => files.flatMap(({ path: file }) => file ?? []));
}

function isOwnImage(world: CrashWorld, file: string): boolean {
  try {
    return ownImages(world).has(sha256(readFileSync(file)));
  } catch {
    return false;
  }
}

/** A run that ended by itself must have told the truth. */
export function judgeEnd(world: CrashWorld, run: Run, tasks = ledgerTasks(world)): string[] {
  const reports = tasksOf(run);
  if (reports === null) return [`exit ${run.code} with no JSON document: ${run.stdout}${run.stderr}`];
  const wrong: string[] = [];
  if (run.code === 1) wrong.push(`exit 1: ${run.stdout.trimEnd()}`);
  const ok = JSON.parse(run.stdout).ok;
  if (ok !== (run.code === 0)) wrong.push(`ok is ${ok} at exit ${run.code}`);
  for (const report of reports) wrong.push(...judgeCharged(world, run, report, tasks));
  return [...wrong, ...judgeLost(world, run, tasks)];
}

/** What this very run may have submitted: the requests that it names. */
function boughtBy({ double }: CrashWorld, { argv, chargedBefore }: Run): string[] {
  const since = double.charges.slice(chargedBefore);
  return since.filter(({ prompt }) => argv.includes(prompt)).map(({ taskId }) => taskId);
}

function judgeCharged(
  world: CrashWorld,
  run: Run,
  { taskId, charged, error }: TaskJson,
  tasks: readonly LedgerTask[],
): string[] {
  if (!world.scenario.provider.isPaid)
    return charged === "no" ? [] : [`charged "${charged}", and it is free`];
  const task = tasks.find(({ ownId }) => ownId !== null && ownId === taskId);
  const isOwn = (charge: Charge) => charge.taskId === taskId || charge.prompt === task?.prompt;
  const own = taskId ? world.double.charges.filter(isOwn) : boughtBy(world, run);
  if (charged === "no" && own.length > 0) return [`charged "no" (${error?.type}), and it was`];
  if (charged === "yes" && own.length === 0) return [`charged "yes" (${error?.type}), and it was not`];
  return [];
}

/** What was submitted is in the ledger, or on the screen, or said to be unknown. A full disk has a reserve. */
function judgeLost(world: CrashWorld, run: Run, tasks: readonly LedgerTask[]): string[] {
  if (!world.scenario.provider.givesIds) return [];
  const lost = boughtBy(world, run).filter((id) => !tasks.some(({ ids }) => ids.includes(id)));
  const unsaid = lost.filter((id) => run.code !== 9 && !idsIn(world, run.stdout + run.stderr).includes(id));
  const wrong = unsaid.map((id) => `${id} is neither in the ledger nor on the screen, at exit ${run.code}`);
  if (world.diskFull && run.code !== 9)
    wrong.push(...lost.map((id) => `${id} is not in the ledger, for all its reserve`));
  return wrong;
}
