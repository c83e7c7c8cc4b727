import { randomFrom } from "../support/random.ts";
import { pause } from "../support/wait.ts";
import { unsavedCharges } from "./disk.ts";
import { judgeRecovery } from "./judge-recovery.ts";
import { idsIn, judgeRun } from "./judge-run.ts";
import { ledgerTasks } from "./ledger-tasks.ts";
import { generate, RESUME, SCENARIOS, type Scenario } from "./scenarios.ts";
import { inWorld, type Program, WORKERS } from "./try-point.ts";
import type { CrashWorld, Run } from "./world.ts";

export interface Soak {
  requests: number;
  kills: number;
  charges: number;
  saved: number;
  wrong: string[];
}

/** Several soaks as one. */
export function totalOf(soaks: readonly Soak[]): Soak {
  const sum = (count: (soak: Soak) => number) => soaks.reduce((total, soak) => total + count(soak), 0);
  return {
    requests: sum(({ requests }) => requests),
    kills: sum(({ kills }) => kills),
    charges: sum(({ charges }) => charges),
    saved: sum(({ saved }) => saved),
    wrong: soaks.flatMap(({ wrong }) => wrong),
  };
}

/**
 * Buys many images into one folder with one ledger, several at once, and kills the programs at moments that
 * nobody chose: each purchase, and resumes after it, until there were enough kills.
 */
export async function soak(
  size: { requests: number; kills: number },
  seed: number,
  program: Program,
): Promise<Soak> {
  const steps = Array.from({ length: size.requests }, (_, at) => generate(`a fox ${at}`));
  const scenario: Scenario = { ...SCENARIOS.plain, name: "soak", steps };
  return inWorld(scenario, program, async (world, recover) => {
    const runs = await killOften(world, size.kills / size.requests, randomFrom(seed));
    const tasks = ledgerTasks(world);
    const wrong = runs.flatMap((run) => judgeRun(world, run, tasks));
    wrong.push(...(await judgeRecovery(world, runs, recover)), ...(await judgeHistory(world)));
    const kills = runs.filter(({ signal }) => signal !== null).length;
    const charges = world.double.charges.length;
    return { requests: steps.length, kills, charges, saved: charges - unsavedCharges(world).size, wrong };
  });
}

async function killOften(world: CrashWorld, killsEach: number, random: () => number): Promise<Run[]> {
  const runs: Run[] = [];
  let kills = 0;
  const { steps } = world.scenario;
  const start = performance.now();
  runs.push(
    ...(await Promise.all(steps.slice(0, WORKERS).map(({ argv }) => world.begin(argv(world)).ended))),
  );
  const firstMs = performance.now() - start;
  // As long as a command took last with as many beside it: every moment of it may be its last.
  const lastMs = new Map<string | undefined, number>();
  const crash = async (argv: readonly string[]) => {
    const [command] = argv;
    const longestMs = 1.5 * (lastMs.get(command) ?? firstMs);
    const { run, tookMs } = await killed(world, argv, random() * longestMs);
    runs.push(run);
    if (run.signal === null) lastMs.set(command, tookMs);
    else kills += 1;
  };
  const purchases = steps.slice(WORKERS).entries();
  const worker = async () => {
    for (const [at, { argv }] of purchases) {
      await crash(argv(world));
      while (kills < (at + 1 + WORKERS) * killsEach) await crash(RESUME);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  return runs;
}

async function killed(
  world: CrashWorld,
  argv: readonly string[],
  afterMs: number,
): Promise<{ run: Run; tookMs: number }> {
  const start = performance.now();
  const { child, ended } = world.begin(argv);
  const alarm = pause(afterMs).then(() => child.kill("SIGKILL"));
  const run = await ended;
  const tookMs = performance.now() - start;
  await alarm;
  return { run, tookMs };
}

/** Every task that was saved is in the history too. */
async function judgeHistory(world: CrashWorld): Promise<string[]> {
  const { stdout } = await world.run(["history", "--all", "--json"]);
  const known = new Set(idsIn(world, stdout));
  const unsaved = unsavedCharges(world);
  const saved = world.double.charges.map(({ taskId }) => taskId).filter((id) => !unsaved.has(id));
  return saved.filter((id) => !known.has(id)).map((id) => `${id} is saved and not in the history`);
}
