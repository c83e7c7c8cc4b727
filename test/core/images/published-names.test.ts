import { mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { RunFileNames, reserveName, sweepReservations } from "../../../src/core/images/published-names.ts";
import { identity, someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const BEGAN = Date.UTC(2026, 0, 31, 12);
const LATER = BEGAN + 5000;

async function names() {
  const folder = await temporaryFolder();
  const file = path.join(folder, "fox.png");
  const put = async (atMs: number, name = "fox.png") => {
    await writeFile(path.join(folder, name), "old");
    await utimes(path.join(folder, name), atMs / 1000, atMs / 1000);
  };
  return { folder, file, put, published: new RunFileNames(BEGAN) };
}

describe("under --overwrite, a name", () => {
  it("is taken where nothing has it, or an old file", async () => {
    const { file, put, published } = await names();
    expect(await published.take(file, LATER)).toBe(true);
    await published.giveBack(file);
    await put(BEGAN - 1000);
    expect(await published.take(file, LATER)).toBe(true);
  });

  it("goes to one image of a run, however many want it at once", async () => {
    const { file, published } = await names();
    const wishes = await Promise.all(Array.from({ length: 8 }, () => published.take(file, LATER)));
    expect(wishes.filter(Boolean)).toHaveLength(1);
  });

  it("goes to one image of a run, however it is spelled", async () => {
    const { folder, published } = await names();
    await mkdir(path.join(folder, "a"));
    await symlink("a", path.join(folder, "b"));
    expect(await published.take(path.join(folder, "a", "caf\u00e9.png"), LATER)).toBe(true);
    expect(await published.take(path.join(folder, "b", "cafe\u0301.png"), LATER)).toBe(false);
    expect(await published.take(path.join(folder, "a", "CAF\u00c9.PNG"), LATER)).toBe(false);
  });

  it("stays with a file that came after the run began: it may be another process's image", async () => {
    const { file, put, published } = await names();
    await put(BEGAN + 1000);
    expect(await published.take(file, LATER)).toBe(false);
  });

  it("stays with a file that came after the task was accepted, when that is resumed later", async () => {
    const { file, put, published } = await names();
    await put(BEGAN - 1000);
    expect(await published.take(file, BEGAN - 2000)).toBe(false);
  });

  it("stays with an image of an earlier run of the batch, while that is there", async () => {
    const { file, put, published } = await names();
    await published.addEarlier(file);
    await put(BEGAN - 1000);
    expect(await published.take(file, LATER)).toBe(false);
    const gone = path.join(path.dirname(file), "gone.png");
    await published.addEarlier(gone);
    expect(await published.take(gone, LATER)).toBe(true);
  });

  it("stays with a folder", async () => {
    const { file, published } = await names();
    await mkdir(file);
    await utimes(file, 1, 1);
    expect(await published.take(file, LATER)).toBe(false);
  });
});

async function newFolder() {
  const folder = await temporaryFolder();
  const processes = someProcesses(1, 2);
  const claim = (pid: number, name = "fox.png") => reserveName(path.join(folder, name), processes.as(pid));
  return { folder, processes, claim };
}

it("a name is reserved for one at a time, of one process or of several, and leaves nothing", async () => {
  const { folder, claim } = await newFolder();
  const claims = await Promise.all([claim(1), claim(1), claim(2), claim(2, "FOX.png")]);
  const held = claims.filter((release) => release !== null);
  expect(held).toHaveLength(1);
  await held[0]?.();
  expect(await readdir(folder)).toEqual([]);
  expect(await claim(2)).not.toBeNull();
});

it("a reservation of a process that has ended is passed over, and removed by the next that saves an image", async () => {
  const { folder, processes, claim } = await newFolder();
  await claim(2);
  processes.die(2);
  const [left = ""] = await readdir(folder);
  await (await claim(1))?.();
  expect(await readdir(folder)).toEqual([left]);
  sweepReservations(folder, processes.as(1));
  expect(await readdir(folder)).toEqual([]);
});

it("a reservation of another machine is respected for half a day, even if its process is dead", async () => {
  const { folder, processes, claim } = await newFolder();
  const elsewhere = { self: identity(3, "elsewhere"), isAlive: () => null };
  expect(await reserveName(path.join(folder, "fox.png"), elsewhere)).not.toBeNull();
  const [name = ""] = await readdir(folder);
  expect(await claim(1)).toBeNull();
  await utimes(path.join(folder, name), 1, 1);
  sweepReservations(folder, processes.as(1));
  expect(await readdir(folder)).toEqual([name]);
  const lease = JSON.parse(await readFile(path.join(folder, name), "utf8"));
  expect(lease.until - Date.now()).toBeGreaterThan(11 * 3_600_000);
  await writeFile(path.join(folder, name), JSON.stringify({ ...lease, until: Date.now() }));
  expect(await claim(1)).not.toBeNull();
});

it("what was left half made is removed, and nothing that is not a reservation", async () => {
  const { folder, processes } = await newFolder();
  const others = ["fox..0123abcd", "imggen-name-0123456789abcdef..0123abcd", ".imggen-x..0123abcd"];
  const left = [
    "..imggen-name-0123456789abcdef..0123abcd.89abcdef",
    ".imggen-name-0123456789abcdef..0123abcd",
  ];
  for (const name of [...others, ...left]) await writeFile(path.join(folder, name), "mine");
  sweepReservations(folder, processes.as(1));
  expect((await readdir(folder)).sort()).toEqual(others.sort());
});

it("a name is reserved while others remove what is left half made", async () => {
  const { folder, processes, claim } = await newFolder();
  const names = Array.from({ length: 30 }, (_, index) => `fox-${index}.png`);
  const claims = names.map((name) => claim(1, name));
  for (let sweeps = 0; sweeps < 30; sweeps++) {
    sweepReservations(folder, processes.as(2));
    await new Promise(setImmediate);
  }
  for (const release of await Promise.all(claims)) await release?.();
  expect(await Promise.all(claims)).not.toContain(null);
  expect(await readdir(folder)).toEqual([]);
});

it("a reservation that cannot be read is left in place, and is no error", async () => {
  const { folder, processes, claim } = await newFolder();
  await claim(1);
  const [name = ""] = await readdir(folder);
  await rm(path.join(folder, name));
  await mkdir(path.join(folder, name));
  await utimes(path.join(folder, name), 1, 1);
  sweepReservations(folder, processes.as(1));
  expect(await readdir(folder)).toEqual([name]);
  expect(await claim(1)).not.toBeNull();
});
