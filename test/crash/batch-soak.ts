import { writeFileSync } from "node:fs";
import path from "node:path";
import { pick, randomFrom } from "../support/random.ts";
import { pause } from "../support/wait.ts";
import { type BatchScenario, batch, manifestOf, placeIn, type Row } from "./batch-scenarios.ts";
import { unsavedCharges } from "./disk.ts";
import { judgeBatchRecovery } from "./judge-batch-recovery.ts";
import { judgeBatchRun, judgeSettled } from "./judge-batch-run.ts";
import { editedRows, shuffled } from "./manifest-edits.ts";
import { PLAIN } from "./scenarios.ts";
import type { Soak } from "./soak.ts";
import { StageWatch } from "./stages.ts";
import { inWorld, type Program } from "./try-point.ts";
import type { CrashWorld, Run } from "./world.ts";

export interface BatchSoakSize {
  rows: number;
  /** Programs that work on the batch at once, each killed at a moment of its own. */
  processes: number;
  /** Whether the manifest changes between the runs. */
  edited: boolean;
}

const SHARED: BatchScenario = {
  ...PLAIN,
  name: "batch soak",
  rows: [],
  again: () => [],
  between: () => {},
  isCleared: false,
  resumeFirst: false,
  boughtAgain: [],
};

/** Names that a manifest goes by in turn. */
const NAMES = ["rows.jsonl", "pictures.jsonl", "rows.ndjson"];
/** Stages for each row of the batch after which a program is killed, at most; a row goes through a dozen. */
const MAX_STAGES = 4;

/** Runs one batch, killed at moments that nobody chose, until a run comes to its end; then finishes and judges. */
export async function soakBatch(size: BatchSoakSize, seed: number, program: Program): Promise<Soak> {
  const random = randomFrom(seed);
  const everAsked = someRows(size.rows);
  const place: BatchScenario["place"] = (charge, image) => placeIn(everAsked)(charge, image);
  return inWorld({ ...SHARED, place }, program, async (world, recover) => {
    const wrong: string[] = [];
    let rows = [...everAsked];
    let runs: Run[] = [];
    let kills = 0;
    do {
      const commands = commandsOf(world, rows, size.processes, random);
      runs = await killedTogether(world, commands, rows.length * MAX_STAGES, random);
      kills += runs.filter(({ signal }) => signal !== null).length;
      wrong.push(...runs.flatMap((run) => judgeRound(world, run)));
      if (size.edited) rows = editedRows(rows, everAsked, random);
    } while (runs.every(({ signal }) => signal !== null));
    const [again = []] = commandsOf(world, rows, 1, random);
    const finished: BatchScenario = { ...SHARED, rows: everAsked, again: () => again };
    wrong.push(...(await judgeBatchRecovery(world, finished, [], recover)));
    const charges = world.double.charges.length;
    const saved = charges - unsavedCharges(world).size;
    return { requests: everAsked.length, kills, charges, saved, wrong };
  });
}

/** Every fourth is the equal of the one before it, and as many have a name of their own. */
function someRows(count: number): Row[] {
  return Array.from({ length: count }, (_, at): Row => {
    if (at % 4 === 3) return { prompt: `a fox ${at - 1}` };
    return at % 4 === 0 ? { prompt: `a fox ${at}`, output: `fox-${at}.png` } : { prompt: `a fox ${at}` };
  });
}

/** Writes the manifest, for each process in an order of its own. */
function commandsOf(
  world: CrashWorld,
  rows: readonly Row[],
  processes: number,
  random: () => number,
): string[][] {
  return Array.from({ length: processes }, (_, at) => {
    const file = path.join(world.folder, `${at}-${pick(NAMES, random)}`);
    writeFileSync(file, manifestOf(at === 0 ? rows : shuffled(rows, random)));
    return batch(file, "--concurrency", "8", "--yes").argv(world);
  });
}

/** Starts the programs at once, and kills each some stages later, and a moment after that. */
async function killedTogether(
  world: CrashWorld,
  commands: readonly string[][],
  mostStages: number,
  random: () => number,
): Promise<Run[]> {
  let stages = 0;
  const alarms: { at: number; ring: () => void }[] = [];
  world.double.watch = new StageWatch(
    null,
    () => {},
    () => {
      stages += 1;
      for (const { at, ring } of alarms) if (at === stages) ring();
    },
  );
  const ended = commands.map((argv) => {
    const { child, ended } = world.begin(argv);
    const momentMs = random() * 40;
    const kill = () => void pause(momentMs).then(() => child.kill("SIGKILL"));
    // One in eight does not even come to the service.
    const at = Math.floor(random() * mostStages);
    if (random() < 1 / 8) void pause(random() * 300).then(kill);
    else alarms.push({ at: at + 1, ring: kill });
    return ended;
  });
  return Promise.all(ended);
}

function judgeRound(world: CrashWorld, run: Run): string[] {
  return [...judgeBatchRun(world, run), ...(run.signal === null ? judgeSettled(run) : [])];
}
