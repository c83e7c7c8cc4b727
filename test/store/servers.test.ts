import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { Ledger } from "../../src/store/ledger.ts";
import { GENERATOR_KEY_ID } from "../../src/task/intent.ts";
import { WORK } from "../support/records.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const NAME = "0123456789abcdef";

/** A ledger that several processes share, and a clock that a test sets. */
async function sharedLedger() {
  const folder = await temporaryFolder();
  const processes = someProcesses(1, 2, 3);
  const clock = { ms: Date.parse("2026-01-01T12:00:00Z"), now: () => clock.ms };
  const as = (pid: number) => new Ledger(folder, clock, processes.as(pid));
  return { folder, processes, clock, as };
}

const INTENT = {
  request: { prompt: "a fox", model: "flux" },
  service: { baseUrl: "command:paint", keyId: GENERATOR_KEY_ID },
  credits: null,
  destination: { kind: "file", path: "/fox", overwrite: false },
  ...WORK,
  server: NAME,
} as const;

/** A task of the server that waits, in nobody's hands. */
async function waitingTask(ledger: Ledger) {
  const owned = await ledger.begin(INTENT);
  ledger.release(owned, true);
  const entry = await ledger.read(owned.task.id);
  if (entry?.kind !== "task") throw new Error("no task");
  return entry.task;
}

it("what was asked of a server is left to it while it lives, and is anybody's then", async () => {
  const { as, processes } = await sharedLedger();
  await as(1).servers.join(NAME);
  const task = await waitingTask(as(1));
  expect(await as(2).take(task)).toBe("held");
  expect(await as(2).findWorker(task)).toMatchObject({ pid: 1 });
  processes.die(1);
  expect(await as(2).findWorker(task)).toBeNull();
  expect(await as(2).take(task)).toMatchObject({ task: { id: task.id } });
});

it("a server takes what is its own, as one of several processes of it", async () => {
  const { as } = await sharedLedger();
  await as(1).servers.join(NAME);
  await as(2).servers.join(NAME);
  const task = await waitingTask(as(1));
  expect(await as(2).take(task, NAME)).toMatchObject({ task: { id: task.id } });
});

it("a server is there until it ends, or gives no sign of life for a minute", async () => {
  const { as, clock } = await sharedLedger();
  const living = await as(1).servers.join(NAME);
  clock.ms += 50_000;
  await living.renew();
  clock.ms += 50_000;
  expect(as(2).servers.findLiving(NAME)).toMatchObject({ pid: 1 });
  expect(as(2).servers.findLiving("fedcba9876543210")).toBeNull();
  clock.ms += 11_000;
  expect(as(2).servers.findLiving(NAME)).toBeNull();
  await living.renew();
  expect(as(2).servers.findLiving(NAME)).toMatchObject({ pid: 1 });
  living.end();
  expect(as(2).servers.findLiving(NAME)).toBeNull();
});

it("files that are no server's hold nobody, and what killed servers left is removed by the next", async () => {
  const { as, processes, folder } = await sharedLedger();
  await as(3).servers.join(NAME);
  processes.die(3);
  const servers = path.join(folder, "tasks", "servers");
  await writeFile(path.join(servers, ".DS_Store"), "");
  await writeFile(path.join(servers, `server-${NAME}..00000000`), "not JSON");
  await writeFile(
    path.join(servers, `server-${NAME}..00000001`),
    JSON.stringify({ by: identity(9), until: "soon" }),
  );
  await mkdir(path.join(servers, `server-${NAME}..00000002`));
  for (const name of await readdir(servers)) await utimes(path.join(servers, name), 1, 1);
  expect(as(2).servers.findLiving(NAME)).toBeNull();
  await as(1).servers.join(NAME);
  expect(as(2).servers.findLiving(NAME)).toMatchObject({ pid: 1 });
  expect(await readdir(servers)).toHaveLength(3);
});
