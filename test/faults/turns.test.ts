// Several processes that take turns, and are killed and stopped meanwhile.
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import { build } from "rolldown";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ROOT } from "../support/program.ts";
import { randomFrom } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { pause, until } from "../support/wait.ts";

let program = "";
let ticketProgram = "";

/** Holds a ticket and asks all the time whether it is kept, or tries to take it from another process. */
const TICKET_PROGRAM = `
import { Tickets } from "${path.join(ROOT, "src/lib/tickets.ts")}";
import { systemClock } from "${path.join(ROOT, "src/lib/clock.ts")}";
import { systemProcesses } from "${path.join(ROOT, "src/lib/processes.ts")}";

const [folder, name, tries] = process.argv.slice(2);
const tickets = new Tickets(folder, systemProcesses(), systemClock);
for (let left = Number(tries); left > 0; left--) {
  const held = await tickets.take("holder-m", 60_000, { sortKey: name });
  if (Array.isArray(held)) continue;
  console.log("held");
  for (let looks = 0; held.isStillHeld(); looks++) {
    if (looks % 100 === 0) held.renew(60_000);
    await new Promise(setImmediate);
  }
  console.log("lost");
}
`;

/** Takes turns, and proves with files that only one process can create that never too many have one. */
const PROGRAM = `
import { closeSync, openSync, unlinkSync } from "node:fs";
import { setMaxListeners } from "node:events";
import path from "node:path";
import { Queue } from "${path.join(ROOT, "src/core/limits/turns.ts")}";
import { systemClock } from "${path.join(ROOT, "src/lib/clock.ts")}";
import { systemProcesses } from "${path.join(ROOT, "src/lib/processes.ts")}";

const { folder, proof, name, turns, atOnce, concurrency, leaseMs, workMs } = JSON.parse(process.argv[2]);
const line = new Queue(folder, { concurrency, leaseMs }, { processes: systemProcesses(), clock: systemClock });
const signal = new AbortController().signal;
setMaxListeners(0, signal);

/** The number of a free seat; null if all are taken. */
function sit() {
  for (let seat = 1; seat <= concurrency; seat++) {
    try {
      closeSync(openSync(path.join(proof, "seat-" + seat), "wx"));
      return seat;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
  return null;
}

let left = turns;
async function work() {
  while (left-- > 0) {
    const turn = await line.take(String(Date.now()).padStart(15, "0") + "-" + name + left, { signal });
    const beganMs = Date.now();
    const seat = sit();
    await systemClock.sleep(workMs);
    if (seat !== null) unlinkSync(path.join(proof, "seat-" + seat));
    const endedMs = Date.now();
    await turn.release();
    console.log(JSON.stringify({ name, seat, beganMs, endedMs }));
  }
}
await Promise.all(Array.from({ length: atOnce }, work));
`;

interface Turned {
  name: string;
  seat: number | null;
  beganMs: number;
  endedMs: number;
}

interface Run {
  folder: string;
  proof: string;
  name: string;
  turns: number;
  atOnce: number;
  concurrency: number;
  leaseMs: number;
  workMs: number;
}

async function built(source: string): Promise<string> {
  const { output } = await build({
    input: "program",
    platform: "node",
    write: false,
    output: { codeSplitting: false },
    plugins: [
      {
        name: "program",
        resolveId: (id: string) => (id === "program" ? "\0program.js" : null),
        load: (id: string) => (id === "\0program.js" ? source : null),
      },
    ],
  });
  return output[0].code;
}

beforeAll(async () => {
  program = await built(PROGRAM);
  ticketProgram = await built(TICKET_PROGRAM);
});

async function newFolders() {
  const folder = await temporaryFolder();
  const proof = await temporaryFolder();
  const file = path.join(proof, "program.mjs");
  writeFileSync(file, program);
  return { folder: path.join(folder, "turns"), proof, file };
}

/** Starts a process that takes turns. */
function started(file: string, run: Run) {
  const child = spawn(process.execPath, [file, JSON.stringify(run)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const turned: Turned[] = [];
  createInterface({ input: child.stdout }).on("line", (text) => turned.push(JSON.parse(text)));
  return { child, turned, ended: new Promise<number | null>((resolve) => child.once("close", resolve)) };
}

/** How many turns at most were in flight at once. */
function mostAtOnce(turns: readonly Turned[]): number {
  const during = (atMs: number) => turns.filter((turn) => turn.beganMs <= atMs && atMs < turn.endedMs);
  return Math.max(...turns.map(({ beganMs }) => during(beganMs).length));
}

describe("turns of several processes", () => {
  it.each([1, 2])("are never more than %i at once, and all of them come", async (concurrency) => {
    const { file, ...folders } = await newFolders();
    const run = { ...folders, turns: 25, atOnce: 3, concurrency, leaseMs: 60_000, workMs: 4 };
    const runs = ["a", "b", "c", "d"].map((name) => started(file, { ...run, name }));
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    const turned = runs.flatMap((each) => each.turned);
    expect(turned).toHaveLength(100);
    expect(turned.filter(({ seat }) => seat === null)).toEqual([]);
    expect(readdirSync(folders.folder)).toEqual([]);
  });

  it("go on when processes are killed and stopped, and are never too many", async () => {
    const random = randomFrom(7);
    const { file, ...folders } = await newFolders();
    const run = { ...folders, turns: 100_000, atOnce: 3, concurrency: 2, leaseMs: 60_000, workMs: 5 };
    const runs = ["a", "b", "c", "d"].map((name) => started(file, { ...run, name }));
    const victims: ChildProcess[] = runs.slice(0, 2).map(({ child }) => child);
    await pause(800);
    for (let round = 0; round < 6; round++) {
      const stopped = runs[2 + (round % 2)]?.child;
      stopped?.kill("SIGSTOP");
      await pause(50 + random() * 300);
      stopped?.kill("SIGCONT");
      if (round % 3 === 1) victims.pop()?.kill("SIGKILL");
      await pause(50 + random() * 200);
    }
    const before = runs.slice(2).map(({ turned }) => turned.length);
    await pause(1500);
    for (const { child } of runs) child.kill("SIGKILL");
    await Promise.all(runs.map(({ ended }) => ended));
    // Both that live go on, and no more had a turn at once than may.
    for (const [at, { turned }] of runs.slice(2).entries())
      expect(turned.length).toBeGreaterThan((before[at] ?? 0) + 5);
    expect(mostAtOnce(runs.flatMap(({ turned }) => turned))).toBeLessThanOrEqual(2);
  });

  it("of a thread that was terminated are lost at their time limit, though its process lives", async () => {
    const { file, ...folders } = await newFolders();
    const run = { ...folders, turns: 1, atOnce: 1, concurrency: 1, leaseMs: 1500, workMs: 60_000 };
    const worker = new Worker(file, { argv: [JSON.stringify({ ...run, name: "a" })] });
    const ticketOf = () => readdirSync(folders.proof).includes("seat-1") && readdirSync(folders.folder)[0];
    await until(() => ticketOf());
    const ticket = readFileSync(path.join(folders.folder, ticketOf() || ""), "utf8");
    expect(JSON.parse(ticket)).toMatchObject({ by: { pid: process.pid } });
    await worker.terminate();
    const next = started(file, { ...run, name: "b", turns: 3, workMs: 5 });
    expect(await next.ended).toBe(0);
    expect(next.turned).toHaveLength(3);
  });

  it("of a process that is stopped for good are lost at their time limit", async () => {
    const { file, ...folders } = await newFolders();
    const run = { ...folders, turns: 1000, atOnce: 1, concurrency: 1, leaseMs: 1000, workMs: 20 };
    const stopped = started(file, { ...run, name: "a" });
    await until(() => stopped.turned.length > 0);
    stopped.child.kill("SIGSTOP");
    const next = started(file, { ...run, name: "b", turns: 3 });
    expect(await next.ended).toBe(0);
    expect(next.turned).toHaveLength(3);
  });
});

it("a ticket is taken from its holder by no process that tries, and is free once the holder is killed", async () => {
  const folder = await temporaryFolder();
  const file = path.join(await temporaryFolder(), "program.mjs");
  writeFileSync(file, ticketProgram);
  const begin = (name: string, tries: number) => {
    const child = spawn(process.execPath, [file, path.join(folder, "holders"), name, String(tries)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on("line", (text) => lines.push(text));
    return { child, lines, ended: new Promise((resolve) => child.once("close", resolve)) };
  };
  const holder = begin("m", 1);
  await until(() => holder.lines.length > 0);
  // Those that sort before the holder look again some times.
  const tried = ["a", "b", "x"].map((name) => begin(name, 100));
  await Promise.all(tried.map(({ ended }) => ended));
  expect([holder, ...tried].map(({ lines }) => lines)).toEqual([["held"], [], [], []]);
  holder.child.kill("SIGKILL");
  await holder.ended;
  const next = begin("z", 1);
  await until(() => next.lines.length > 0);
  expect(next.lines).toEqual(["held"]);
});
