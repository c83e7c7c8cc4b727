import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { newLease } from "../../src/lib/lease.ts";
import { type HeldTicket, type TakeOptions, Tickets } from "../../src/lib/tickets.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tinyDisk } from "../support/tiny-disk.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What several processes see of one folder. */
async function newTickets(clock: Clock = fakeClock()) {
  const folder = path.join(await temporaryFolder(), "tickets");
  const world = someProcesses(1, 2, 3);
  const as = (pid: number, clockOf: Pick<Clock, "now"> = clock) =>
    new Tickets(folder, world.as(pid), clockOf);
  return { folder, world, as, clock };
}

async function taken(
  tickets: Tickets,
  what = "turn",
  forMs = MINUTE,
  options: TakeOptions = {},
): Promise<HeldTicket> {
  const result = await tickets.take(what, forMs, options);
  if (Array.isArray(result)) throw new Error(`held by ${result.map(({ name }) => name)}`);
  return result;
}

const names = (folder: string) => readdirSync(folder).sort();

function put(folder: string, name: string, content: string | object, ageMs = 0, nowMs = Date.now()): void {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  utimesSync(file, (nowMs - ageMs) / 1000, (nowMs - ageMs) / 1000);
}

describe("a ticket", () => {
  it("is a private file in a private folder, and is gone once it is released", async () => {
    const { folder, as, clock } = await newTickets();
    const held = await taken(as(1), "turn", MINUTE, { sortKey: "a", count: 3 });
    expect(names(folder)).toEqual([held.name]);
    expect(held.name).toMatch(/^turn\.a\.[0-9a-f]{8}$/);
    expect([folder, path.join(folder, held.name)].map((each) => statSync(each).mode & 0o777)).toEqual([
      0o700, 0o600,
    ]);
    const lease = newLease(identity(1), MINUTE, clock.now());
    expect(as(2).listActive("turn")).toEqual([{ name: held.name, sortKey: "a", lease, count: 3 }]);
    held.release();
    held.release();
    expect(names(folder)).toEqual([]);
    expect([held.isStillHeld(), held.renew(MINUTE)]).toEqual([false, false]);
  });

  it("is refused to everybody else while it is held, and not for something else", async () => {
    const { as } = await newTickets();
    const held = await taken(as(1));
    expect(await as(2).take("turn", MINUTE)).toMatchObject([{ name: held.name }]);
    await taken(as(2), "turn-2");
    held.release();
    await taken(as(2));
  });

  it("is had by as many at once as may, in the order that they state, whatever characters that has", async () => {
    const { as } = await newTickets();
    for (const [at, sortKey] of ["c.x", "c-2", "c", "b"].entries())
      await taken(as(1 + (at % 2)), "turn", MINUTE, { sortKey, max: 4 });
    const others = await as(3).take("turn", MINUTE, { sortKey: "a", max: 4 });
    expect(others).toMatchObject(["b", "c", "c-2", "c.x"].map((sortKey) => ({ sortKey })));
  });

  it.each(["", "a.b", "a/b", "..a", "a b"])("cannot be for %j", async (what) => {
    const { as } = await newTickets();
    await expect(as(1).take(what, MINUTE)).rejects.toThrow("not a valid ticket name");
  });

  it("ends at its time, though its process lives, and is lost then", async () => {
    const { as, clock, folder } = await newTickets();
    const held = await taken(as(1));
    (clock as ReturnType<typeof fakeClock>).advance(MINUTE);
    const written = readFileSync(path.join(folder, held.name), "utf8");
    const next = await taken(as(2));
    expect([held.isStillHeld(), held.renew(MINUTE)]).toEqual([false, false]);
    expect(readFileSync(path.join(folder, held.name), "utf8")).toBe(written);
    held.release();
    expect([next.isStillHeld(), as(3).listActive("turn").length]).toEqual([true, 1]);
  });

  it("is lost where its file is gone, and not written again", async () => {
    const { as, folder } = await newTickets();
    const held = await taken(as(1));
    rmSync(path.join(folder, held.name));
    expect([held.renew(MINUTE), held.isStillHeld()]).toEqual([false, false]);
    expect(names(folder)).toEqual([]);
  });

  it("of a process that has died counts no longer", async () => {
    const { as, world } = await newTickets();
    await taken(as(1));
    world.die(1);
    expect(as(2).listActive("turn")).toEqual([]);
    await taken(as(2));
  });

  it("of another machine counts until its time is up", async () => {
    const clock = fakeClock();
    const { as, folder } = await newTickets(clock);
    put(folder, "turn.a.0123abcd", newLease(identity(9, "elsewhere"), MINUTE, clock.now()));
    expect(await as(1).take("turn", MINUTE)).toHaveLength(1);
    clock.advance(MINUTE);
    await taken(as(1));
  });

  it("that is released with a time to keep is nobody's until then", async () => {
    const clock = fakeClock();
    const { as, world } = await newTickets(clock);
    (await taken(as(1))).release(MINUTE);
    world.die(1);
    expect(await as(1).take("turn", MINUTE)).toMatchObject([{ lease: { by: null } }]);
    clock.advance(MINUTE);
    await taken(as(2));
  });

  it("is kept for a day at most", async () => {
    const clock = fakeClock();
    const { as } = await newTickets(clock);
    (await taken(as(1))).release(Number.POSITIVE_INFINITY);
    clock.advance(24 * HOUR - 1);
    expect(as(2).listActive("turn")).toHaveLength(1);
    clock.advance(1);
    expect(as(2).listActive("turn")).toEqual([]);
  });
});

describe("a clock", () => {
  it("that is ahead by more than a minute does not take a ticket from its holder, nor give it one more", async () => {
    const { as, clock } = await newTickets();
    const ahead = { now: () => clock.now() + 61_000 };
    const held = await taken(as(1, ahead));
    expect(await as(2).take("turn", MINUTE)).toHaveLength(1);
    expect(held.isStillHeld()).toBe(true);
  });

  it("that was set back leaves a ticket to its holder, and nobody waits for longer than a day", async () => {
    const { as, clock, world } = await newTickets();
    let nowMs = clock.now();
    const set = { now: () => nowMs };
    const held = await taken(as(1, set));
    nowMs -= 2 * HOUR;
    expect([held.isStillHeld(), await as(2, set).take("turn", MINUTE)]).toMatchObject([
      true,
      [{ name: held.name }],
    ]);
    expect(held.renew(MINUTE)).toBe(true);
    nowMs += MINUTE;
    await taken(as(2, set));
    nowMs -= 30 * 24 * HOUR;
    await taken(as(3, set));
    world.die(3);
    expect(as(1, set).listActive("turn")).toEqual([]);
  });

  it("that was set ahead ends a ticket for its holder too, even if it is set back then", async () => {
    const { as, clock } = await newTickets();
    let nowMs = clock.now();
    const set = { now: () => nowMs };
    const held = await taken(as(1, set));
    nowMs += HOUR;
    const next = await taken(as(2, set));
    expect(held.isStillHeld()).toBe(false);
    nowMs -= HOUR;
    expect([held.isStillHeld(), held.renew(MINUTE), next.isStillHeld()]).toEqual([false, false, true]);
  });

  it("that stands still does not hold a ticket past its time", async () => {
    const { as } = await newTickets();
    const held = await taken(as(1), "turn", 20);
    await systemClock.sleep(30);
    expect([held.isStillHeld(), held.renew(20)]).toEqual([false, false]);
  });
});

describe("what is in the folder", () => {
  it.each<[string, string | object]>([
    ["is empty", ""],
    ["is cut short", '{"by":{"pid":2,"ho'],
    ["is no object", "[]"],
    ["names no process", { by: {}, from: 0, until: Date.UTC(2026, 0, 31, 13) }],
    ["ends in more than a day", newLease(identity(2), HOUR, Date.UTC(2026, 1, 2))],
    ["ends at no time", { by: null, from: 0, until: "soon" }],
    ["is too large", `${JSON.stringify(newLease(null, HOUR, Date.UTC(2026, 0, 31, 12)))}${" ".repeat(5000)}`],
  ])("holds nothing where it %s", async (_what, content) => {
    const { as, folder } = await newTickets();
    put(folder, "turn.a.0123abcd", content);
    await taken(as(1));
    expect(names(folder)).toContain("turn.a.0123abcd");
  });

  it.each(["folder", "pipe", "dangling link", "link to itself"])(
    "holds nothing where it is a %s",
    async (kind) => {
      const { as, folder } = await newTickets();
      const file = path.join(folder, "turn.a.0123abcd");
      mkdirSync(folder);
      if (kind === "folder") mkdirSync(file);
      else if (kind === "pipe") execFileSync("mkfifo", [file]);
      else symlinkSync(kind === "dangling link" ? "/nowhere/at/all" : "turn.a.0123abcd", file);
      await taken(as(1));
      as(1).sweep();
    },
  );

  it("and is not a number of requests counts as one", async () => {
    const { as, folder, clock } = await newTickets();
    for (const count of [-1, 0.5, "9", 1e300, null])
      put(folder, `wait.${JSON.stringify(count)}.0123abcd`, { ...newLease(null, HOUR, clock.now()), count });
    const counts = as(1)
      .listActive("wait")
      .map(({ count }) => count);
    expect(counts).toEqual([1, 1, 1, 1, 1]);
  });

  it("is swept if nobody has written it for ten minutes, and holds nothing", async () => {
    const { as, folder, clock } = await newTickets();
    const nowMs = clock.now();
    const kept = newLease(null, 24 * HOUR, nowMs);
    const dead = newLease(identity(9), HOUR, nowMs);
    for (const [name, content] of [
      ["turn.a.00000001", ""],
      ["turn.b.00000002", dead],
      [".turn.c.00000003.00000004", ""],
    ] as const) {
      put(folder, `${name}`, content, 11 * MINUTE, nowMs);
      put(folder, name.replace("turn", "turn-2"), content, 9 * MINUTE, nowMs);
    }
    put(folder, "turn.d.00000005", kept, 11 * MINUTE, nowMs);
    put(folder, "turn.e.00000006", dead, -11 * MINUTE, nowMs);
    const others = [".DS_Store", "turn", "turn.000", "turn.a.0123abcd.bak", "notes.txt"];
    for (const name of others) put(folder, name, "", 24 * HOUR, nowMs);
    const left = [
      ...others,
      ".turn-2.c.00000003.00000004",
      "turn-2.a.00000001",
      "turn-2.b.00000002",
      "turn.d.00000005",
    ];
    as(1).sweep("other");
    expect(names(folder)).toHaveLength(left.length + 4);
    as(1).sweep();
    expect(names(folder)).toEqual(left.sort());
  });

  it("is nothing where it does not exist", async () => {
    const { as } = await newTickets();
    as(1).sweep();
    expect(as(1).listActive("turn")).toEqual([]);
  });

  it("cannot be a file", async () => {
    const { as, folder } = await newTickets();
    writeFileSync(folder, "");
    await expect(as(1).take("turn", MINUTE)).rejects.toThrow("is not a folder");
    expect(() => as(1).sweep()).not.toThrow();
  });

  it("is left as it was by a disk that is full, whose error is thrown", async ({ skip }) => {
    const disk = tinyDisk(64);
    if (disk === null) return skip("needs permission to mount");
    const tickets = new Tickets(disk, someProcesses(1).as(1), systemClock);
    const held = await taken(tickets, "holder");
    expect(() => writeFileSync(path.join(disk, "full"), Buffer.alloc(1 << 20))).toThrow();
    await expect(tickets.take("turn", MINUTE)).rejects.toThrow(expect.objectContaining({ code: "ENOSPC" }));
    expect(() => held.renew(MINUTE)).toThrow(expect.objectContaining({ code: "ENOSPC" }));
    expect(held.isStillHeld()).toBe(true);
    expect(names(disk).sort()).toEqual(["full", held.name].sort());
    held.release();
  });
});

describe("many at once", () => {
  it("never have more tickets than may be had, whatever their order, and somebody always gets one", async () => {
    const takers = fc.array(
      fc.record({
        pid: fc.integer({ min: 1, max: 3 }),
        order: fc.constantFrom("a", "b", "c"),
        pause: fc.nat(3),
      }),
      { minLength: 2, maxLength: 9 },
    );
    await fc.assert(
      fc.asyncProperty(takers, fc.integer({ min: 1, max: 3 }), async (each, max) => {
        const { as, folder } = await newTickets(systemClock);
        let atOnce = 0;
        let most = 0;
        const work = async ({ pid, order, pause }: (typeof each)[number]) => {
          for (let turns = 0, tries = 0; turns < 2 && tries < 500; tries++) {
            const held = await as(pid).take("turn", MINUTE, { sortKey: order, max });
            if (!Array.isArray(held)) {
              most = Math.max(most, ++atOnce);
              await systemClock.sleep(pause);
              expect(held.isStillHeld()).toBe(true);
              atOnce--;
              held.release();
              turns++;
            }
            await systemClock.sleep(pause);
          }
        };
        await Promise.all(each.map(work));
        expect(most).toBeGreaterThan(0);
        expect(most).toBeLessThanOrEqual(max);
        expect(names(folder)).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });

  it("take nothing from the holder by trying, 200 times, in any order", async () => {
    const { as } = await newTickets(systemClock);
    const held = await taken(as(1), "holder-m", MINUTE, { sortKey: "b" });
    let isOver = false;
    const looking = (async () => {
      let looks = 0;
      for (; !isOver; looks++) {
        expect(held.isStillHeld()).toBe(true);
        if (looks % 20 === 0) expect(held.renew(MINUTE)).toBe(true);
        await new Promise(setImmediate);
      }
      return looks;
    })();
    const tries = Array.from({ length: 200 }, (_, at) =>
      as(2 + (at % 2)).take("holder-m", MINUTE, { sortKey: "abc"[at % 3] ?? "" }),
    );
    for (const others of await Promise.all(tries))
      expect(others).toContainEqual(expect.objectContaining({ name: held.name }));
    isOver = true;
    expect(await looking).toBeGreaterThan(10);
    expect(as(3).listActive("holder-m")).toMatchObject([{ name: held.name }]);
  });
});
