import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { installExample } from "../support/doubles/example.ts";
import { PICTURE } from "../support/images.ts";
import { CANARY, programWorld } from "../support/program-world.ts";
import { isRunning } from "../support/some-processes.ts";
import { killed, startedWhen, stopped } from "../support/started.ts";
import { pause } from "../support/wait.ts";

/** A world whose generator is a shell script; `$log` is a file, `$picture` an image. */
async function commandWorld(body: string, args = "{promptFile} {output}") {
  const world = await programWorld(null);
  const file = path.join(world.folder, "paint");
  const log = path.join(world.folder, "log");
  const picture = path.join(world.folder, "picture.png");
  await writeFile(picture, PICTURE);
  await writeFile(file, `#!/bin/sh\nlog='${log}'\npicture='${picture}'\n${body}\n`);
  await chmod(file, 0o755);
  const env = { IMGGEN_GENERATOR: `command:${file} ${args}`, PATH: process.env.PATH };
  const lines = async () => (await readFile(log, "utf8").catch(() => "")).split("\n").filter(Boolean);
  return { world, env, lines };
}

const COPY = 'cp "$picture" "$2"';
const SAVED = { exit: 0, type: null, files: [expect.stringMatching(/\.png$/)] };
const FAILED = { exit: 5, type: "generation_failed", charged: "no", files: [], open: [] };

/** Waits for ever the first time, and makes an image after that. */
const HANGS_ONCE = `echo $$ >> "$log"
if [ "$(wc -l < "$log")" = 1 ]; then trap '' TERM INT; sleep 3600 & wait; fi
${COPY}`;

describe("a generator's command", () => {
  it.each([
    ["fails although it wrote an image", `${COPY}; echo 'no GPU' >&2; exit 3`, /with exit code 3: no GPU/],
    ["writes nothing", "true", /wrote no image/],
    ["writes something else", "echo '<html>' > \"$2\"", /cannot be used: .*HTML/],
    ["writes half an image", 'head -c 60 "$picture" > "$2"', /cannot be used: .*cut short/],
    ["makes the output a pipe", 'mkfifo "$2"', /wrote no image/],
  ])("that %s has failed: exit 5, nothing charged, nothing left", async (_how, body, message) => {
    const { world, env } = await commandWorld(body);
    const run = await world.generate([], { env });
    expect(await world.aftermath(run)).toMatchObject(FAILED);
    expect(JSON.parse(run.stdout).error.message).toMatch(message);
    expect(await scratchOf(world.home)).toEqual([]);
  });

  it("that hangs is ended at its time limit, with what it has started: exit 5, nothing charged", async () => {
    const { world, env, lines } = await commandWorld(HANGS_ONCE);
    const flags = ["--generator-timeout", "1s"];
    const run = await world.generate(flags, { env });
    expect(await world.aftermath(run)).toMatchObject(FAILED);
    expect(JSON.parse(run.stdout).error.message).toMatch(
      /took longer than 1 s\. Allow more with the setting generatorTimeout\.$/,
    );
    expect(isRunning((await lines())[0])).toBe(false);
    expect(await world.afterGenerate(flags, { env })).toMatchObject(SAVED);
  });

  it("that cannot be started is an error that names it: exit 7, nothing charged", async () => {
    const { world } = await commandWorld(COPY);
    const env = { IMGGEN_GENERATOR: "command:/no/such/paint {promptFile} {output}" };
    const run = await world.generate([], { env });
    expect(await world.aftermath(run)).toMatchObject({ exit: 7, type: "network", charged: "no", files: [] });
    const { error } = JSON.parse(run.stdout);
    expect(error.message).toContain("/no/such/paint: no such file or folder (ENOENT)");
    expect(error.hint).toBe("Nothing was charged. Check the path of its program.");
  });

  it("whose reference image is not to be had fails with what is wrong with it, and holds no other task up", async () => {
    const { world, env, lines } = await commandWorld(
      `echo $# >> "$log"; ${COPY}`,
      "{promptFile} {output} {image}",
    );
    const lost = world.generate(["--image", "http://no-such-host.invalid/fox.png"], { env });
    const other = await world.generate(["--again"], { env });
    const refused = { exit: 2, type: "invalid_request", charged: "no", open: [] };
    expect(await world.aftermath(await lost)).toMatchObject(refused);
    expect(JSON.parse((await lost).stdout).error.message).toMatch(
      /The reference image http:\/\/no-such-host\.invalid\/fox\.png could not be downloaded: .*, 3 times/,
    );
    expect(other.code).toBe(0);
    expect(await lines()).toEqual(["2"]);
  });

  it("that fails while its task is resumed is told of, as where it fails at once", async () => {
    const { world, env } = await commandWorld('if [ -e "$log" ]; then exit 3; fi; echo > "$log"; sleep 3600');
    expect((await world.generate(["--timeout", "1s"], { env })).code).toBe(6);
    const run = await world.run(["resume"], { env });
    expect([run.code, run.stderr]).toEqual([5, expect.stringContaining("failed with exit code 3")]);
  });

  it("that is paid for and fails may have been charged: exit 9, and it is not run again", async () => {
    const { world, env, lines } = await commandWorld('echo run >> "$log"; exit 1');
    const flags = ["--generator-paid"];
    const unknown = { exit: 9, type: "outcome_unknown", charged: "unknown" };
    expect(await world.afterGenerate(flags, { env })).toMatchObject(unknown);
    expect(await world.afterResume(flags, { env })).toMatchObject({ exit: 9 });
    expect(await lines()).toEqual(["run"]);
  });

  it("that is paid for and leaves further images has them kept and named", async () => {
    const { world, env } = await commandWorld(`${COPY}; cp "$picture" more.png`);
    const run = await world.run(["generate", "a fox", "--json", "--generator-paid"], { env });
    const [warning] = JSON.parse(run.stdout).warnings;
    expect(warning).toMatch(
      /^1 more image was received but not saved\. It is kept in \S+ until you remove that folder\.$/,
    );
    const [, kept = ""] = /kept in (\S+) until/.exec(warning) ?? [];
    expect(await readdir(path.join(kept, "scratch"))).toContain("more.png");
  });

  it("that talks without end is not stopped by that", async () => {
    const { world, env } = await commandWorld(`seq 300000; seq 300000 >&2; ${COPY}`);
    expect(await world.afterGenerate([], { env })).toMatchObject(SAVED);
  });

  it("gets no key, and its control sequences do not reach the terminal", async () => {
    const { world, env, lines } = await commandWorld(
      "env > \"$log\"; printf '\\033[31mred\\033]52;c;AAAA\\007' >&2; exit 1",
    );
    // That of an installed package, too.
    await installExample(path.join(world.home, "config"));
    const keys = { IMGGEN_GENERATOR_KEY: CANARY, OPENAI_API_KEY: CANARY, EXAMPLE_API_KEY: CANARY };
    const told = await world.run(["generate", "a fox"], { env: { ...env, ...keys } });
    expect(told.stderr).toMatch(/\[31mred/);
    expect(told.stderr).not.toMatch(/[\x1b\x07]/);
    expect((await lines()).join()).toContain("PATH=");
    expect((await lines()).join()).not.toMatch(/IMGGEN_(?!TEST)|OPENAI_API_KEY|EXAMPLE_API_KEY/);
    expect(world.leaks(told)).toEqual([]);
  });

  it("gets a prompt as it is, whatever a shell would make of it", async () => {
    const { world, env, lines } = await commandWorld(
      'printf "%s\\n" "$1" "$(cat "$3")" > "$log"; cp "$picture" "$2"',
      "{prompt} {output} {promptFile}",
    );
    const prompt = "$(touch hacked) `id` 'a' \"b\"; {width} #";
    expect((await world.run(["generate", prompt, "--output", world.out], { env })).code).toBe(0);
    expect(await lines()).toEqual([prompt, prompt]);
  });

  it("leaves nothing of its work below the state folder", async () => {
    const { world, env } = await commandWorld(`mkdir -p deep/er; seq 100000 > deep/er/rest; ${COPY}`);
    expect(await world.afterGenerate([], { env })).toMatchObject(SAVED);
    expect(await scratchOf(world.home)).toEqual([]);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("is ended with its imggen by %s, and resume runs it again", async (signal, code) => {
    const { world, env, lines } = await commandWorld(HANGS_ONCE);
    const isStarted = async () => (await lines()).length === 1;
    const { program, end } = await startedWhen(world, isStarted, world.generateArgs(), { env });
    program.kill(signal);
    expect((await end).code).toBe(code);
    expect(isRunning((await lines())[0])).toBe(false);
    expect(await world.afterResume([], { env })).toMatchObject(SAVED);
    expect(await lines()).toHaveLength(2);
  });

  it("that ignores the end of its imggen is killed by a second signal, with what it has started", async () => {
    const { world, env, lines } = await commandWorld(
      `echo $$ >> "$log"; trap '' TERM INT; sleep 3600 & echo $! >> "$log"; wait; sleep 3600`,
    );
    const isStarted = async () => (await lines()).length === 2;
    const { program, end } = await startedWhen(world, isStarted, world.generateArgs(), { env });
    program.kill("SIGINT");
    // Signals that come closer together than a process is woken are one to it.
    await pause(200);
    const { run } = await stopped(program, end, "SIGTERM");
    // Ended by the first signal, after the command's grace, it would exit with 130.
    expect(run.code).toBe(143);
    for (const pid of await lines()) await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
    expect(await world.aftermath(run)).toMatchObject({ type: "interrupted", files: [] });
  });

  it("that outlives its imggen is ended by the next one, which runs it again", async () => {
    const { world, env, lines } = await commandWorld(HANGS_ONCE);
    // The command may have run its first line before imggen has noted its process.
    const isNoted = async () => {
      const [note] = await filesBelow(world.home, /\.process$/);
      const text = note === undefined ? "" : await readFile(path.join(world.home, note), "utf8");
      return text.endsWith("}") && (await lines()).length === 1;
    };
    await killed(await startedWhen(world, isNoted, world.generateArgs(), { env }));
    expect(isRunning((await lines())[0])).toBe(true);
    expect(await world.afterResume([], { env })).toMatchObject(SAVED);
    expect(isRunning((await lines())[0])).toBe(false);
    expect(await lines()).toHaveLength(2);
  });

  it("that is dead, as its imggen is: status says that it waits and does not run, exit 6", async () => {
    const { world, env, lines } = await commandWorld(HANGS_ONCE);
    const isStarted = async () => (await lines()).length === 1;
    await killed(await startedWhen(world, isStarted, world.generateArgs(), { env }));
    process.kill(Number((await lines())[0]), "SIGKILL");
    const [[intent] = []] = await world.records("open");
    if (!intent) throw new TypeError("a task");
    const { taskId } = intent as unknown as { taskId: string };
    const status = async (...flags: string[]) => world.run(["status", taskId, ...flags], { env });
    const { code, stdout, stderr } = await status();
    expect({ code, said: stdout + stderr }).toEqual({
      code: 6,
      said: expect.stringContaining(`Not running. To continue the task: imggen resume ${taskId}`),
    });
    for (const flags of [[], ["--wait"]]) {
      const run = await status("--json", ...flags);
      const { status: word, state } = JSON.parse(run.stdout);
      expect({ code: run.code, word, state }).toEqual({ code: 6, word: "running", state: "waiting" });
    }
    expect(await lines()).toHaveLength(1);
    expect(await world.afterResume([], { env })).toMatchObject(SAVED);
  });

  it("of several processes runs for one task after the other", async () => {
    const { world, env, lines } = await commandWorld(
      `echo begin >> "$log"; sleep 0.2; echo end >> "$log"; ${COPY}`,
    );
    const runs = await Promise.all([1, 2, 3, 4].map(() => world.generate(["--again"], { env })));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(await lines()).toEqual(Array(4).fill(["begin", "end"]).flat());
  });
});

/** What a command has left below a home. */
function scratchOf(home: string): Promise<string[]> {
  return filesBelow(home, /deep|rest|prompt\.txt|scratch/);
}

async function filesBelow(folder: string, name: RegExp): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((each) => name.test(each));
}
