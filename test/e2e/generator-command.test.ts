import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { type ProgramWorld, programWorld } from "../support/program-world.ts";

/** A world whose generator is a shell script; `$log` is a file, `$picture` an image. */
async function commandWorld(body: string) {
  const world = await programWorld(null);
  const file = path.join(world.folder, "paint");
  const log = path.join(world.folder, "log");
  const picture = path.join(world.folder, "picture.png");
  await writeFile(picture, PICTURE);
  await writeFile(file, `#!/bin/sh\nlog='${log}'\npicture='${picture}'\n${body}\n`);
  await chmod(file, 0o755);
  const env = { IMGGEN_GENERATOR: `command:${file} {promptFile} {output}`, PATH: process.env.PATH };
  const lines = async () => (await readFile(log, "utf8").catch(() => "")).split("\n").filter(Boolean);
  return { world, env, lines };
}

/** Waits for ever the first time, and makes an image after that. */
const HANGS_ONCE = `echo $$ >> "$log"
if [ "$(wc -l < "$log")" = 1 ]; then trap '' TERM INT; sleep 3600 & wait; fi
cp "$picture" "$2"`;

async function isRunning(pid: string | undefined): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat !== "" && !/\) [ZX] /.test(stat);
}

/** Starts `generate`, and ends it with a signal while its command hangs. @returns how it ended */
async function endedBy(
  signal: NodeJS.Signals,
  world: ProgramWorld,
  env: NodeJS.ProcessEnv,
  lines: () => Promise<string[]>,
) {
  const child = world.start(world.generateArgs(), { env });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("exit", (code, killedBy) => resolve(code ?? killedBy));
  });
  await expect.poll(async () => (await lines()).length, { timeout: 30_000 }).toBe(1);
  child.kill(signal);
  return ended;
}

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s ends a command with its imggen; resume runs it again", async (signal, code) => {
  const { world, env, lines } = await commandWorld(HANGS_ONCE);
  expect(await endedBy(signal, world, env, lines)).toBe(code);
  expect(await isRunning((await lines())[0])).toBe(false);
  const resumed = await world.resume([], { env });
  expect(await world.aftermath(resumed)).toMatchObject({ exit: 0, files: [expect.stringMatching(/\.png$/)] });
  expect(await lines()).toHaveLength(2);
});

it("a command that outlives its imggen is ended by the next one, which runs it again", async () => {
  const { world, env, lines } = await commandWorld(HANGS_ONCE);
  expect(await endedBy("SIGKILL", world, env, lines)).toBe("SIGKILL");
  expect(await isRunning((await lines())[0])).toBe(true);
  const resumed = await world.resume([], { env });
  expect(await world.aftermath(resumed)).toMatchObject({ exit: 0, files: [expect.stringMatching(/\.png$/)] });
  expect(await isRunning((await lines())[0])).toBe(false);
  expect(await lines()).toHaveLength(2);
});

it("commands of several processes run one after the other", async () => {
  const { world, env, lines } = await commandWorld(
    'echo begin >> "$log"; sleep 0.2; echo end >> "$log"; cp "$picture" "$2"',
  );
  const runs = await Promise.all([1, 2, 3, 4].map(() => world.generate(["--again"], { env })));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(await lines()).toEqual(Array(4).fill(["begin", "end"]).flat());
});

it("leaves nothing of a command's work below the state folder", async () => {
  const { world, env } = await commandWorld(
    'mkdir -p deep/er; seq 100000 > deep/er/rest; cp "$picture" "$2"',
  );
  expect((await world.generate([], { env })).code).toBe(0);
  const left = await readdir(world.home, { recursive: true });
  expect(left.filter((name) => /deep|rest|prompt\.txt|scratch/.test(name))).toEqual([]);
});
