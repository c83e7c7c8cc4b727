import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import type { Ledger } from "../../src/store/ledger.ts";
import { ledgerWorld, leftTask } from "../support/ledger-world.ts";
import { WORK } from "../support/records.ts";
import { identity } from "../support/some-processes.ts";

const NAME = "0123456789abcdef";

/** A task of the server that waits, in nobody's hands. */
async function waitingTask(ledger: Ledger) {
  const { task } = await leftTask(ledger, { ...WORK, server: NAME });
  return (await ledger.find(task.id)) ?? task;
}

it("what was asked of a server is left to it while it lives, and is anybody's then", async () => {
  const { as, processes } = await ledgerWorld();
  await as(1).servers.join(NAME);
  const task = await waitingTask(as(1));
  expect(await as(2).take(task)).toBe("claimed");
  expect(await as(2).findWorker(task)).toMatchObject({ pid: 1 });
  processes.die(1);
  expect(await as(2).findWorker(task)).toBeNull();
  expect(await as(2).take(task)).toMatchObject({ task: { id: task.id } });
});

it("a server takes what is its own, as one of several processes of it", async () => {
  const { as } = await ledgerWorld(2);
  await as(1).servers.join(NAME);
  await as(2).servers.join(NAME);
  const task = await waitingTask(as(1));
  expect(await as(2).take(task, NAME)).toMatchObject({ task: { id: task.id } });
});

it("a server is there until it ends, or gives no sign of life for a minute", async () => {
  const { as, clock } = await ledgerWorld();
  const living = await as(1).servers.join(NAME);
  clock.advance(50_000);
  await living.renew();
  clock.advance(50_000);
  expect(as(2).servers.findLiving(NAME)).toMatchObject({ pid: 1 });
  expect(as(2).servers.findLiving("fedcba9876543210")).toBeNull();
  clock.advance(11_000);
  expect(as(2).servers.findLiving(NAME)).toBeNull();
  await living.renew();
  expect(as(2).servers.findLiving(NAME)).toMatchObject({ pid: 1 });
  living.end();
  expect(as(2).servers.findLiving(NAME)).toBeNull();
});

it("files that are no server's hold nobody, and what killed servers left is removed by the next", async () => {
  const { as, processes, state } = await ledgerWorld(3);
  await as(3).servers.join(NAME);
  processes.die(3);
  const servers = path.join(state, "tasks", "servers");
  await writeFile(path.join(servers, ".DS_Store"), "");
  await writeFile(path.join(servers, `server-${NAME}..00000000`), "not JSON");
  const broken = JSON.stringify({ by: identity(9), until: "soon" });
  await writeFile(path.join(servers, `server-${NAME}..00000001`), broken);
  await mkdir(path.join(servers, `server-${NAME}..00000002`));
  for (const name of await readdir(servers)) await utimes(path.join(servers, name), 1, 1);
  expect(as(2).servers.findLiving(NAME)).toBeNull();
  await as(1).servers.join(NAME);
  expect(as(2).servers.findLiving(NAME)).toMatchObject({ pid: 1 });
  expect(await readdir(servers)).toHaveLength(3);
});
