import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { reserveName, sweepReservations } from "../../../src/core/images/published-names.ts";
import { identity, someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

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

it("a reservation of a process that has ended is passed over, and removed with the next", async () => {
  const { folder, processes, claim } = await newFolder();
  await claim(2);
  processes.die(2);
  await (await claim(1))?.();
  expect(await readdir(folder)).toEqual([]);
});

it("a reservation of another machine is respected", async () => {
  const { folder, processes, claim } = await newFolder();
  const elsewhere = { self: { ...identity(3), host: "elsewhere" }, isAlive: () => false };
  expect(await reserveName(path.join(folder, "fox.png"), elsewhere)).not.toBeNull();
  expect(await claim(1)).toBeNull();
  await sweepReservations(folder, processes.as(1));
  expect(await readdir(folder)).toHaveLength(1);
});

it("what was left half made is removed, and nothing that is not a reservation", async () => {
  const { folder, processes } = await newFolder();
  const draft = JSON.stringify(identity(3));
  await writeFile(path.join(folder, ".imggen-0123456789abcdef.claim-1.0123abcd"), draft);
  await writeFile(path.join(folder, "fox.claim-1.0123abcd"), "mine");
  await sweepReservations(folder, processes.as(1));
  expect(await readdir(folder)).toEqual(["fox.claim-1.0123abcd"]);
});

it("a reservation that cannot be read is left in place, and is no error", async () => {
  const { folder, processes } = await newFolder();
  await mkdir(path.join(folder, ".imggen-0123456789abcdef.claim-1.0123abcd"));
  await sweepReservations(folder, processes.as(1));
  expect(await readdir(folder)).toHaveLength(1);
});
