import { rmSync, writeFileSync } from "node:fs";
import { readdir, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { removeLeases } from "../../src/lib/claim-files.ts";
import { type LeaseResult, takeLease } from "../../src/lib/lease-files.ts";
import type { Processes } from "../../src/lib/processes.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Writes a claim as a process left it that was stopped at this point, so long ago. */
async function leaveClaim(folder: string, content: string, agoMs: number): Promise<void> {
  const file = path.join(folder, "task.claim-1");
  await writeFile(file, content);
  const when = new Date(Date.now() - agoMs);
  await utimes(file, when, when);
}

async function release(result: LeaseResult): Promise<void> {
  if (!result.isTaken) await result.claim.release();
}

/** Takes claims on one thing as two machines that share a folder, each of which can ask only its own processes. */
function twoMachines(folder: string) {
  let nowMs = Date.now();
  const machine = (host: string): Processes => ({
    self: identity(1, host),
    isAlive: (other) => other.host === host,
  });
  const take = (host: string) => takeLease(folder, "task", null, machine(host), { now: () => nowMs });
  return { take, wait: (ms: number) => (nowMs += ms) };
}

describe("claiming a thing on two machines", () => {
  it("gives it to one of them, until that one must have recorded what it does with it", async () => {
    const { take, wait } = twoMachines(await temporaryFolder());
    expect(await take("a")).toMatchObject({ isTaken: false });
    wait(9_900);
    expect(await take("b")).toMatchObject({ isTaken: true, by: { host: "a" } });
    wait(200);
    expect(await take("b")).toMatchObject({ isTaken: false });
  });

  it("is found out about by the first one once the second has it", async () => {
    const { take, wait } = twoMachines(await temporaryFolder());
    const first = await take("a");
    wait(10_100);
    if (first.isTaken) throw new Error("it was free");
    expect(await first.claim.isKept()).toBe(true);
    const second = await take("b");
    wait(10_100);
    expect(await first.claim.isKept()).toBe(false);
    if (second.isTaken) throw new Error("its time was up");
    await first.claim.release();
    expect(await second.claim.isKept()).toBe(true);
  });
});

describe("claiming a thing", () => {
  it("is granted where there is no owner", async () => {
    const folder = await temporaryFolder();
    expect(await takeLease(folder, "task", null, someProcesses(1).as(1))).toMatchObject({ isTaken: false });
  });

  it("refuses what its first owner still holds, and leaves no trace", async () => {
    const folder = await temporaryFolder();
    const result = await takeLease(folder, "task", identity(2), someProcesses(1, 2).as(1));
    expect(result).toEqual({ isTaken: true, by: identity(2) });
    expect(await readdir(folder)).toEqual([]);
  });

  it("gives what a dead owner held", async () => {
    const folder = await temporaryFolder();
    expect(await takeLease(folder, "task", identity(2), someProcesses(1).as(1))).toMatchObject({
      isTaken: false,
    });
  });

  it("refuses what another has claimed, and gives it once that one is dead", async () => {
    const folder = await temporaryFolder();
    const world = someProcesses(1, 2);
    await takeLease(folder, "task", null, world.as(2));
    expect(await takeLease(folder, "task", null, world.as(1))).toMatchObject({
      isTaken: true,
      by: identity(2),
    });
    world.die(2);
    expect(await takeLease(folder, "task", null, world.as(1))).toMatchObject({ isTaken: false });
  });

  it.each([
    ["and another has it", 3, { isTaken: true, by: identity(3) }, ["task.claim-1"]],
    ["and nobody has it", null, { isTaken: false }, ["task.claim-1"]],
  ])(
    "is not misled by an owner that lets go and ends while it is asked after, %s",
    async (_what, next, result, files) => {
      const folder = await temporaryFolder();
      await takeLease(folder, "task", null, someProcesses(1, 2).as(2));
      const file = path.join(folder, "task.claim-1");
      const processes: Processes = {
        ...someProcesses(1, 3).as(1),
        isAlive({ pid }) {
          if (pid !== 2) return true;
          rmSync(file);
          if (next !== null) writeFileSync(file, JSON.stringify(identity(next)));
          return false;
        },
      };
      expect(await takeLease(folder, "task", null, processes)).toMatchObject(result);
      expect(await readdir(folder)).toEqual(files);
    },
  );

  it("gives it again once it was released", async () => {
    const folder = await temporaryFolder();
    const world = someProcesses(1, 2);
    await release(await takeLease(folder, "task", null, world.as(2)));
    expect(await takeLease(folder, "task", null, world.as(1))).toMatchObject({ isTaken: false });
  });

  it("refuses even its own process a second time: two parts of it are two", async () => {
    const folder = await temporaryFolder();
    const self = someProcesses(1).as(1);
    await takeLease(folder, "task", null, self);
    expect(await takeLease(folder, "task", null, self)).toMatchObject({ isTaken: true });
  });

  it("keeps different things apart", async () => {
    const folder = await temporaryFolder();
    const world = someProcesses(1, 2);
    await takeLease(folder, "one", null, world.as(1));
    expect(await takeLease(folder, "other", null, world.as(2))).toMatchObject({ isTaken: false });
  });

  it("passes over a claim that names no process", async () => {
    const passesOver = async (content: string) => {
      const folder = await temporaryFolder();
      await leaveClaim(folder, content, 60_000);
      expect(await takeLease(folder, "task", null, someProcesses(1, 2).as(1))).toMatchObject({
        isTaken: false,
      });
    };
    // All at once: each is waited for, because another process could still be writing it.
    await Promise.all(["", '{"pid":2,"ho', "null"].map(passesOver));
  });

  it("gives what a dead process left to exactly one of many", async () => {
    for (let round = 0; round < 20; round++) {
      const folder = await temporaryFolder();
      const world = someProcesses(1, 2, 3, 4);
      const dead = identity(9);
      await leaveClaim(folder, JSON.stringify(dead), 0);
      const results = await Promise.all(
        [1, 2, 3, 4].map((pid) => takeLease(folder, "task", dead, world.as(pid))),
      );
      expect(results.filter(({ isTaken }) => !isTaken)).toHaveLength(1);
    }
  });

  it("never has two owners, however often it changes hands", async () => {
    const folder = await temporaryFolder();
    const pids = [1, 2, 3, 4];
    const world = someProcesses(...pids);
    let holders = 0;
    let most = 0;
    const turns = pids.map(async (pid) => {
      for (let turn = 0; turn < 150; turn++) {
        const result = await takeLease(folder, "task", null, world.as(pid));
        if (result.isTaken) continue;
        holders += 1;
        most = Math.max(most, holders);
        await new Promise(setImmediate);
        holders -= 1;
        await result.claim.release();
      }
    });
    await Promise.all(turns);
    expect(most).toBe(1);
  });
});

/** Two processes, of which the second takes what the first has had for too long. */
async function overtaken() {
  const folder = await temporaryFolder();
  const world = someProcesses(1, 2, 3);
  let nowMs = Date.now();
  const take = async (pid: number, ignoresLiving = false) => {
    const options = { forMs: 1000, ignoresLiving, now: () => nowMs };
    const result = await takeLease(folder, "task", null, world.as(pid), options);
    return result.isTaken ? null : result.claim;
  };
  const first = await take(1);
  expect(await take(2)).toBeNull();
  nowMs += 1000;
  const second = await take(2);
  return { folder, world, take, first, second };
}

describe("a claim whose time is up, though its process lives", () => {
  it("is overtaken, and says so", async () => {
    const { first, second } = await overtaken();
    expect(await second?.isKept()).toBe(true);
    expect(await first?.isKept()).toBe(false);
  });

  it("says so even if whoever overtook it has died", async () => {
    const { first, world } = await overtaken();
    world.die(2);
    expect(await first?.isKept()).toBe(false);
  });

  it("does not release the claim that overtook it", async () => {
    const { folder, first, second, take } = await overtaken();
    await first?.release();
    expect(await take(3)).toBeNull();
    expect(await second?.isKept()).toBe(true);
    await second?.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it("does not release what another has under its number since", async () => {
    const { folder, first, second, take } = await overtaken();
    await second?.release();
    const third = await take(3);
    await first?.release();
    expect(await readdir(folder)).toEqual(["task.claim-1"]);
    expect(await third?.isKept()).toBe(true);
  });
});

describe("a claim that ignores the living", () => {
  const ignoresLiving = true;

  it("is granted beside a living first owner, and beside a living claimer", async () => {
    const folder = await temporaryFolder();
    const world = someProcesses(1, 2, 3);
    const first = await takeLease(folder, "task", identity(3), world.as(1), { ignoresLiving });
    const second = await takeLease(folder, "task", identity(3), world.as(2), { ignoresLiving });
    expect((await readdir(folder)).sort()).toEqual(["task.claim-1", "task.claim-2"]);
    if (first.isTaken || second.isTaken) throw new Error("it was refused");
    expect(await first.claim.isKept()).toBe(false);
    expect(await second.claim.isKept()).toBe(true);
    await first.claim.release();
    expect(await takeLease(folder, "task", null, world.as(3))).toMatchObject({
      isTaken: true,
      by: { pid: 2 },
    });
    await second.claim.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is granted to one of many that come at once", async () => {
    const folder = await temporaryFolder();
    const world = someProcesses(1, 2, 3, 4, 5);
    await takeLease(folder, "task", null, world.as(5));
    const results = await Promise.all(
      [1, 2, 3, 4].map((pid) => takeLease(folder, "task", null, world.as(pid), { ignoresLiving })),
    );
    expect(results.filter(({ isTaken }) => !isTaken)).toHaveLength(1);
  });
});

it("what is left of a finished task's claims is removed, and no other claim", async () => {
  const folder = await temporaryFolder();
  for (const name of ["a.claim-1", "a.claim-2", "b.claim-1", "a.jsonl"])
    await writeFile(path.join(folder, name), "");
  await removeLeases(folder, "a");
  expect((await readdir(folder)).sort()).toEqual(["a.jsonl", "b.claim-1"]);
});
