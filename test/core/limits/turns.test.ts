import { setMaxListeners } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { mkdir, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { Queue, type Turn, type Waiting } from "../../../src/core/limits/turns.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { newLease } from "../../../src/lib/lease.ts";
import { type Processes, type ProcessIdentity, systemProcesses } from "../../../src/lib/processes.ts";
import { cpuTimeOf } from "../../support/cpu-time.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { quickClock } from "../../support/quick-clock.ts";
import { identity, someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { pause } from "../../support/wait.ts";

const LIMITS = { concurrency: 1, leaseMs: 60_000 };
const SIGNAL = new AbortController().signal;
setMaxListeners(0, SIGNAL);

function lineOf(folder: string, processes: Processes, limits = LIMITS, clock = systemClock): Queue {
  return new Queue(folder, limits, { processes, clock });
}

/** What several processes see of one folder. */
async function newLines(limits = LIMITS) {
  const folder = path.join(await temporaryFolder(), "turns");
  const world = someProcesses(1, 2, 3);
  const lines = new Map([1, 2, 3].map((pid) => [pid, lineOf(folder, world.as(pid), limits)]));
  const as = (pid: number) => lines.get(pid) ?? lineOf(folder, world.as(pid), limits);
  return { folder, world, as };
}

/** A take that can be asked whether it has its turn. */
function taking(line: Queue, order: string, signal = SIGNAL) {
  const told: Waiting[] = [];
  const entry = { told, hasTurn: false, turn: Promise.resolve<Turn>({ async release() {} }) };
  entry.turn = line.take(order, { signal, onWait: (waiting) => told.push({ ...waiting }) });
  entry.turn.then(
    () => {
      entry.hasTurn = true;
    },
    () => {},
  );
  return entry;
}

const leaseOf = (pid: number, leaseMs: number, scope?: string) =>
  newLease(identity(pid, scope), leaseMs, Date.now());

/** Puts a file into the folder as another process would. */
async function put(folder: string, name: string, lease: object | string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, name), typeof lease === "string" ? lease : JSON.stringify(lease));
}

const ticket = (order: string, kind: "wait" | "turn") => `${kind}.${order}.0123abcd`;

async function old(file: string, ageMs: number): Promise<void> {
  const when = (Date.now() - ageMs) / 1000;
  await utimes(file, when, when);
}

describe("a turn", () => {
  it("is given at once where nobody has one, and leaves nothing", async () => {
    const { folder, as } = await newLines();
    const turn = await as(1).take("a", { signal: SIGNAL });
    expect(await readdir(folder)).toHaveLength(1);
    await turn.release();
    await turn.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is given in the order that the callers state, not in that of their coming", async () => {
    const { as } = await newLines();
    const first = await as(1).take("a", { signal: SIGNAL });
    const said: string[] = [];
    const ends = ["d", "b", "c-2", "c"].map(async (order, index) => {
      const turn = await as((index % 2) + 1).take(order, { signal: SIGNAL });
      said.push(order);
      await turn.release();
    });
    await pause();
    await first.release();
    await Promise.all(ends);
    expect(said).toEqual(["b", "c", "c-2", "d"]);
  });

  it("of two with one order is given first to the one that came first", async () => {
    const { as } = await newLines();
    const first = await as(1).take("a", { signal: SIGNAL });
    const said: number[] = [];
    const ends = Array.from({ length: 9 }, async (_, index) => {
      const turn = await as(1).take("b", { signal: SIGNAL });
      said.push(index);
      await turn.release();
    });
    await first.release();
    await Promise.all(ends);
    expect(said).toEqual(said.toSorted((a, b) => a - b));
  });

  it("is not taken from its holder by one that sorts before it", async () => {
    const { as } = await newLines();
    const held = await as(1).take("b", { signal: SIGNAL });
    const earlier = taking(as(2), "a");
    await pause();
    expect(earlier).toMatchObject({ hasTurn: false });
    await held.release();
    await earlier.turn;
  });

  it("is left to another that takes it after the tickets were read, and had once that one has ended", async () => {
    const { folder, world } = await newLines();
    const theirs = leaseOf(2, 60_000);
    await put(folder, ticket("b", "wait"), theirs);
    let isAsked = false;
    const isAlive = ({ pid }: ProcessIdentity) => {
      // The waiter is listed by now, and takes its turn.
      if (pid === 2 && !isAsked)
        writeFileSync(path.join(folder, ticket("b", "turn")), JSON.stringify(theirs));
      isAsked ||= pid === 2;
      return true;
    };
    const first = taking(lineOf(folder, { ...world.as(1), isAlive }), "a");
    await pause();
    expect(isAsked).toBe(true);
    expect(first).toMatchObject({ hasTurn: false });
    // It takes one for a moment, and gives it back.
    await expect
      .poll(() => readdirSync(folder).filter((name) => name.startsWith("turn.")))
      .toEqual([ticket("b", "turn")]);
    await rm(path.join(folder, ticket("b", "turn")));
    await first.turn;
  });

  it("is had by as many at once as the limit says", async () => {
    const { as } = await newLines({ ...LIMITS, concurrency: 2 });
    const held = await Promise.all([1, 2].map((pid) => as(pid).take(`a${pid}`, { signal: SIGNAL })));
    const third = taking(as(3), "b");
    await pause();
    expect(third).toMatchObject({ hasTurn: false });
    await held[0]?.release();
    await third.turn;
  });

  it("of a process that has died is free, as is its place, and its tickets are removed once they are old", async () => {
    const { folder, as, world } = await newLines();
    await put(folder, ticket("a", "turn"), leaseOf(2, 60_000));
    await put(folder, ticket("b", "wait"), leaseOf(2, 60_000));
    world.die(2);
    await (await as(1).take("c", { signal: SIGNAL })).release();
    const names = await readdir(folder);
    expect(names).toHaveLength(2);
    for (const name of names) await old(path.join(folder, name), 700_000);
    await (await as(3).take("c", { signal: SIGNAL })).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it("that is released with a time to keep is free after it, and not before", async () => {
    const { as } = await newLines();
    await (await as(1).take("a", { signal: SIGNAL })).release(400);
    const began = performance.now();
    const next = taking(as(1), "b");
    await next.turn;
    expect(performance.now() - began).toBeGreaterThan(350);
    expect(next.told).toEqual([{ ahead: 1, holder: "an abandoned request, for at most 1 minute" }]);
  });
});

describe("a waiter", () => {
  it("is told how many are before it, and for whom it waits, whenever that changes", async () => {
    const { as } = await newLines();
    const held = await as(2).take("a", { signal: SIGNAL });
    const [first, second] = [taking(as(1), "b"), taking(as(1), "c")];
    await pause();
    expect(first.told).toEqual([{ ahead: 1, holder: "another imggen process, pid 2" }]);
    await held.release();
    const turn = await first.turn;
    await pause();
    expect(second.told).toEqual([
      { ahead: 2, holder: "another imggen process, pid 2" },
      { ahead: 1, holder: "another task of this process" },
    ]);
    await turn.release();
    await second.turn;
  });

  it("is told of another machine's process for how long it may have to wait", async () => {
    const { folder, as } = await newLines();
    await put(folder, ticket("a", "turn"), leaseOf(9, 200_000, "elsewhere"));
    const waiting = taking(as(1), "b");
    await pause();
    expect(waiting.told).toEqual([
      { ahead: 1, holder: "a process on host elsewhere, for at most 4 minutes" },
    ]);
  });

  it("that is given up leaves at once, with the signal's reason, and the next has its place", async () => {
    const { folder, as } = await newLines();
    const held = await as(1).take("a", { signal: SIGNAL });
    const controller = new AbortController();
    const given = taking(as(1), "b", controller.signal);
    const next = taking(as(1), "c");
    await pause();
    controller.abort(new Error("enough"));
    await expect(given.turn).rejects.toThrow("enough");
    await pause();
    expect(next.told.at(-1)).toMatchObject({ ahead: 1 });
    await held.release();
    await (await next.turn).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it("that was given up before it came leaves no trace", async () => {
    const { folder, as } = await newLines();
    await expect(as(1).take("a", { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
    expect(() => readdirSync(folder)).toThrow("ENOENT");
  });

  it("that comes first and is stopped lets others pass once its ticket has run out", async () => {
    const { folder, as } = await newLines();
    await put(folder, ticket("a", "wait"), leaseOf(2, 300));
    const next = taking(as(1), "b");
    await pause();
    expect(next).toMatchObject({ hasTurn: false, told: [{ ahead: 1 }] });
    await next.turn;
    // It lives, so that its ticket stays for when it continues.
    expect(await readdir(folder)).toContain(ticket("a", "wait"));
  });

  it("renews its ticket, and so has its place again after it was stopped", async () => {
    const { folder, world, as } = await newLines();
    await as(1).take("a", { signal: SIGNAL });
    void taking(lineOf(folder, world.as(2), LIMITS, quickClock), "b");
    await pause();
    const ticketOf = async () => (await readdir(folder)).find((name) => name.startsWith("wait.b."));
    const name = (await ticketOf()) ?? "";
    await rm(path.join(folder, name));
    await expect.poll(ticketOf).toBeDefined();
  });

  it("is told of all that wait before it in other processes, each of which has one ticket", async () => {
    const { folder, as } = await newLines();
    const held = await as(1).take("a", { signal: SIGNAL });
    const others = ["b", "c", "d"].map((order) => taking(as(2), order));
    await pause();
    const last = taking(as(3), "e");
    await pause(300);
    expect(last.told.at(-1)).toEqual({ ahead: 4, holder: "another imggen process, pid 1" });
    expect((await readdir(folder)).map((name) => name.split(".").slice(0, 2)).sort()).toEqual([
      ["turn", "a"],
      ["wait", "b"],
      ["wait", "e"],
    ]);
    await held.release();
    for (const { turn } of [...others, last]) await (await turn).release();
    expect(last.told.map(({ ahead }) => ahead)).toEqual(
      last.told.map(({ ahead }) => ahead).toSorted((a, b) => b - a),
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it("is not woken by those that renew their places", async () => {
    const { folder, world } = await newLines();
    await put(folder, ticket("a", "turn"), leaseOf(2, 60_000));
    let asked = 0;
    const isAlive = () => Boolean(++asked);
    // It never looks by itself: a busy machine would take the time to.
    const clock = {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(60_000, signal),
    };
    void taking(lineOf(folder, { ...world.as(1), isAlive }, LIMITS, clock), "b");
    await pause(100);
    const before = asked;
    for (let round = 0; round < 50; round++) await put(folder, ticket(`c${round}`, "wait"), "");
    await pause(20);
    expect(asked - before).toBeLessThan(4);
  });

  it("waits under a clock whose waits take no time too", async () => {
    const { folder, world } = await newLines();
    const clock = fakeClock();
    const line = lineOf(folder, world.as(1), LIMITS, clock);
    await line.take("a", { signal: SIGNAL });
    await line.take("b", { signal: SIGNAL });
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(LIMITS.leaseMs);
  });

  it("fails with the error of its listener, and blocks nobody", async () => {
    const { as } = await newLines();
    const held = await as(1).take("a", { signal: SIGNAL });
    const onWait = () => {
      throw new Error("not now");
    };
    await expect(as(1).take("b", { signal: SIGNAL, onWait })).rejects.toThrow("not now");
    const next = taking(as(1), "c");
    await held.release();
    await next.turn;
  });
});

describe("what is in the folder", () => {
  it("is a line of its own however the folder's path is spelled", async () => {
    const { folder, as, world } = await newLines();
    const held = await as(1).take("a", { signal: SIGNAL });
    const alias = `${folder}-alias`;
    await symlink(folder, alias);
    const next = taking(lineOf(alias, world.as(1)), "b");
    await pause();
    expect(next).toMatchObject({ hasTurn: false });
    await held.release();
    await next.turn;
  });
});

it("sixty waiters leave a processor most of its time", async () => {
  const folder = await temporaryFolder();
  const line = lineOf(folder, systemProcesses());
  const held = await line.take("000", { signal: SIGNAL });
  const waiters = Array.from({ length: 60 }, (_, index) =>
    line.take(`1${String(index).padStart(2, "0")}`, { signal: SIGNAL }),
  );
  await pause();
  const cost = await cpuTimeOf(() => pause(2_500));
  await held.release();
  for (const waiter of waiters) await (await waiter).release();
  expect(cost).toBeLessThan(1_000);
});
