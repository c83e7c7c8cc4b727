import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { finished } from "../support/program.ts";
import { CANARY, NOTHING_CHARGED, type ProgramWorld, SAVED, serviceWorld } from "../support/program-world.ts";
import { isRunning } from "../support/some-processes.ts";
import { handlesSignals, stopped } from "../support/started.ts";
import { PRINTS_URL, type Uploader, uploader } from "../support/uploader.ts";
import { pause } from "../support/wait.ts";

const REFUSED = { ...NOTHING_CHARGED, exit: 2, type: "usage" };

/** A world whose upload command runs this shell script, and the flags for an image that it is to upload. */
async function uploadWorld(body: string) {
  const { world } = await serviceWorld();
  const up = await uploader(world.folder, body);
  const file = path.join(world.folder, "fox.png");
  await writeFile(file, PICTURE);
  const flags = ["-m", "gamma-image-2", "--image", file];
  return { world, up, file, flags, env: { IMGGEN_UPLOAD_COMMAND: up.command } };
}

/** The next run, with a command that works, uploads and saves. */
async function worksAfterwards(world: ProgramWorld, flags: string[], up: Uploader) {
  const before = (await up.runs()).length;
  const works = await uploader(world.folder, PRINTS_URL);
  expect(await world.afterGenerate(flags, { env: { IMGGEN_UPLOAD_COMMAND: works.command } })).toMatchObject({
    ...SAVED,
    done: expect.arrayContaining(["saved"]),
  });
  expect(await up.runs()).toHaveLength(before + 1);
}

describe("an upload command", () => {
  it.each([
    ["fails", "echo first >&2; echo 'no such bucket' >&2; exit 3", /exit code 3: first \/ no such bucket\.$/],
    ["is killed", "kill -9 $$", /was ended by SIGKILL\.$/],
    ["prints nothing", "true", /printed nothing instead of one https:\/\/ URL on one line\.$/],
    ["prints two lines", `echo uploaded; ${PRINTS_URL}`, /printed 2 lines/],
    ["prints an http URL", "echo http://cdn.example/fox.png", /printed "http:\/\/cdn\.example\/fox\.png"/],
    ["prints something else", "echo fox.png uploaded", /printed "fox\.png uploaded"/],
    ["prints without end", "yes", /printed too much text/],
  ])(
    "that %s is an error that says so: exit 2, nothing charged, and the next run uploads",
    async (_what, body, message) => {
      const { world, up, flags, env } = await uploadWorld(body);
      const run = await world.generate(flags, { env });
      expect(await world.aftermath(run)).toMatchObject(REFUSED);
      const { error } = JSON.parse(run.stdout);
      expect(error.message).toMatch(message);
      expect(error.hint).toMatch(/^Nothing was charged/);
      await worksAfterwards(world, flags, up);
    },
  );

  it.each([
    ["a URL, and fails", `${PRINTS_URL}; exit 1`, /failed with exit code 1\.$/],
    ["blank lines alone", "printf '\\n  \\n'", /printed nothing/],
    [
      "a URL with no //",
      "echo https:a.example/x",
      /printed a URL without a host after https:\/\/ instead of/,
    ],
    ["a URL with no host", "echo https:///x", /printed a URL without a host/],
    ["two URLs on one line", "echo https://a.example https://b.example", /printed "https:/],
    ["a URL with a password", "echo https://me:secret@a.example/", /printed "https:\/\/a\.example\/"/],
  ])("that prints %s is an error too: exit 2, nothing charged", async (_what, body, message) => {
    const { world, flags, env } = await uploadWorld(body);
    const run = await world.generate(flags, { env });
    expect(await world.aftermath(run)).toMatchObject(REFUSED);
    expect(JSON.parse(run.stdout).error.message).toMatch(message);
    expect(run.stdout).not.toContain("secret");
  });

  it("that cannot be started is an error that names it: exit 2, nothing charged", async () => {
    const { world, file, flags } = await uploadWorld("true");
    const env = { IMGGEN_UPLOAD_COMMAND: "/no/such/uploader {file}" };
    const run = await world.generate(flags, { env });
    expect(await world.aftermath(run)).toMatchObject(REFUSED);
    expect(JSON.parse(run.stdout).error.message).toBe(
      `${file} was not uploaded: the upload command cannot be started: /no/such/uploader: no such file or folder (ENOENT).`,
    );
  });

  it("that hangs is killed after 120 s, with what it has started: exit 2, nothing charged", async () => {
    const { world, up, file, flags, env } = await uploadWorld(
      'sleep 3600 & echo $! > "$log.pid"; echo waiting >&2; wait',
    );
    const run = await world.generate(flags, { env: { ...env, NODE_OPTIONS: SHORT_TIMEOUT } });
    expect(await world.aftermath(run)).toMatchObject(REFUSED);
    expect(JSON.parse(run.stdout).error.message).toBe(
      `${file} was not uploaded: the upload command took longer than 2 min and was killed: waiting.`,
    );
    await expect.poll(() => sleeperIsAlive(world)).toBe(false);
    await worksAfterwards(world, flags, up);
  });

  it("does not get a key, and its control sequences do not reach the terminal", async () => {
    const { world, up, flags, env } = await uploadWorld(
      "printf '\\033[31mred\\033]52;c;AAAA\\007' >&2; exit 1",
    );
    const keys = { IMGGEN_GENERATOR_KEY: CANARY };
    expect(await world.afterGenerate(flags, { env: { ...env, ...keys } })).toMatchObject(REFUSED);
    expect((await up.runs()).join()).toContain(" IMGGEN_HOME ");
    expect((await up.runs()).join()).not.toMatch(/IMGGEN_(?:API|GENERATOR)_KEY/);
    const told = await world.run(["generate", "a fox", ...flags], { env });
    expect(told.stderr).toMatch(/\[31mred/);
    expect(told.stderr).not.toMatch(/[\x1b\x07]/);
  });

  it("gets a file's name as it is, whatever a shell would make of it", async () => {
    const { world, up, env } = await uploadWorld(PRINTS_URL);
    const name = "$(touch hacked) 'a' \"b\"; touch hacked #.png";
    await writeFile(path.join(world.out, name), PICTURE);
    const run = await world.generate(["-m", "gamma-image-2", "--image", name], { env });
    expect(run.code).toBe(0);
    expect((await up.runs())[0]?.startsWith(path.join(world.out, name))).toBe(true);
    expect(existsSync(path.join(world.out, "hacked"))).toBe(false);
  });

  it("that is given a file which changes meanwhile is not believed: nothing is charged or remembered", async () => {
    const { world, up, flags, env } = await uploadWorld(`echo changed >> "$1"; ${PRINTS_URL}`);
    const run = await world.generate(flags, { env });
    expect(await world.aftermath(run)).toMatchObject(REFUSED);
    expect(JSON.parse(run.stdout).error.message).toMatch(/fox\.png was changed while it was uploaded\.$/);
    await writeFile(path.join(world.folder, "fox.png"), PICTURE);
    await worksAfterwards(world, flags, up);
  });
});

it("SIGINT during an upload kills the command and what it has started: nothing charged", async () => {
  const { world, up, flags, env } = await uploadWorld(
    'trap "" INT TERM HUP; sleep 3600 & echo $! > "$log.pid"; wait',
  );
  const program = world.start(world.generateArgs(flags), { env });
  const end = finished(program);
  await handlesSignals(program);
  while (!(await sleeperIsAlive(world))) await pause(20);
  const { run, elapsedMs } = await stopped(program, end, "SIGINT");
  expect(await world.aftermath(run)).toMatchObject({ exit: 130, type: "interrupted", ...NOTHING_CHARGED });
  expect(elapsedMs).toBeLessThan(20_000);
  await expect.poll(() => sleeperIsAlive(world)).toBe(false);
  await worksAfterwards(world, flags, up);
});

it("several processes that upload one file at once submit one URL, and lose nothing", async () => {
  const { world, flags, env } = await uploadWorld(`sleep 1; ${PRINTS_URL}`);
  const runs = await Promise.all([1, 2, 3].map(() => world.generate(flags, { env })));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
  const urls = runs.map(({ stdout }) => JSON.parse(stdout).request.image);
  expect(new Set(urls).size).toBe(1);
});

/** Of the 120 s that an upload may take, what a test can wait for. */
const SHORT_TIMEOUT = `--import data:text/javascript,${encodeURIComponent(
  "const { setTimeout: real } = globalThis;" +
    "globalThis.setTimeout = (run, ms, ...args) => real(run, ms === 120_000 ? 1_500 : ms, ...args);",
)}`;

/** Whether the process that the command has started is there. */
async function sleeperIsAlive({ folder }: ProgramWorld): Promise<boolean> {
  const pid = await readFile(path.join(folder, "uploads.log.pid"), "utf8").catch(() => "none");
  return isRunning(pid.trim());
}
