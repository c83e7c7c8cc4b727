import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { inspectFile } from "../../../src/lib/image/inspect.ts";
import { identifyProcess } from "../../../src/lib/processes.ts";
import type { GeneratorOptions } from "../../../src/providers/kind.ts";
import { type Job, TimeLimitError } from "../../../src/providers/provider.ts";
import { PICTURE } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { quickClock } from "../../support/quick-clock.ts";
import { response } from "../../support/scripted-server.ts";
import { isRunning } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { pause } from "../../support/wait.ts";
import { ALONE, DATA_REFERENCE, fileReference, type JobParts, jobFor, opened, told } from "../job.ts";

/** A command that runs a shell script, with what its arguments are. */
async function script(body: string, args: string[] = ["{output}"], options: Partial<GeneratorOptions> = {}) {
  const folder = await temporaryFolder();
  const file = path.join(folder, "paint");
  const picture = path.join(folder, "picture.png");
  await writeFile(picture, PICTURE);
  await writeFile(file, `#!/bin/sh\npicture='${picture}'\nlog='${folder}/log'\n${body}\n`);
  await chmod(file, 0o755);
  const words = [file, ...args];
  const env = {
    PATH: process.env.PATH,
    HOME: "/home/ada",
    IMGGEN_API_KEY: "sk-1",
    IMGGEN_HOME: "/x",
    openai_api_key: "sk-2",
    FAL_KEY: "sk-2-fal",
    REPLICATE_API_TOKEN: "sk-2-replicate",
    BFL_API_KEY: "sk-2-bfl",
    GEMINI_API_KEY: "sk-2-gemini",
    GOOGLE_API_KEY: "sk-2-google",
  };
  const spec = { kind: "command", name: `command:${words.join(" ")}`, words } as const;
  const generator = await opened(spec, options, env, { clock: quickClock });
  return {
    /** Submits a job. @returns what came of it, and its image's file */
    generate: async (overrides: JobParts = {}, how = ALONE) => {
      const job = await jobFor(overrides);
      const reply = await generator.submit(job, how);
      const images = reply.outcome === "made" ? await generator.images?.(job) : [];
      return { job, reply, images, ...told(reply), left: await readdir(job.folder) };
    },
    generator,
    words,
    recover: async (job: Job, signal = ALONE.signal) =>
      (await generator.recover?.(job, { ...ALONE, signal })) ?? null,
    log: () => readFile(path.join(folder, "log"), "utf8"),
  };
}

const COPY = 'cp "$picture" "$1"';
const MADE = { outcome: "made", usage: null };

const scratchOf = (job: Job) => path.join(job.folder, "scratch");
const imageOf = (job: Job) => [{ kind: "file", file: path.join(job.folder, "image") }];

it("gives a command the job's parts, runs it in a folder of its own, and leaves nothing but the image", async () => {
  const { generate, log } = await script(
    `pwd > "$log"; cat "$2" >> "$log"; echo >> "$log"; shift 2; printf '%s\\n' "$@" >> "$log"; cp "$picture" output.png`,
    "{output} {promptFile} {prompt} {width}x{height} --seed={seed} {model} --image={image} {steps}".split(
      " ",
    ),
  );
  const prompt = "a {width} fox\n'\"$HOME\\";
  const { job, reply, images, left } = await generate({ prompt, model: "m", fields: { seed: 7, steps: 4 } });
  expect(await log()).toBe(`${job.folder}/scratch\n${prompt}\n${prompt}\n64x48\n--seed=7\nm\n4\n`);
  expect(left).toEqual(["image"]);
  expect(reply).toEqual(MADE);
  expect(images).toEqual(imageOf(job));
  expect(await readFile(path.join(job.folder, "image"))).toEqual(PICTURE);
});

it("gives each image a seed of its own, which is the same when it is made again", async () => {
  const { generate, log } = await script(`echo "$2" >> "$log"; ${COPY}`, ["{output}", "{seed}"]);
  for (const index of [0, 0, 1]) await generate({ index });
  const [first, again, other] = (await log()).split("\n").map(Number);
  expect(first).toBe(again);
  expect(other).not.toBe(first);
  expect(first).toBeLessThan(2 ** 31);
});

it("hides every provider's key and imggen's own settings from a command, and gives it those of --generator-header", async () => {
  const headers = { OPENAI_API_KEY: "sk-given" };
  const { generate, log } = await script(`env > "$log"; ${COPY}`, undefined, { headers });
  await generate();
  expect(await log()).toMatch(/^HOME=\/home\/ada$/m);
  expect(await log()).toMatch(/^OPENAI_API_KEY=sk-given$/m);
  expect(await log()).not.toMatch(/^IMGGEN_|sk-[12]/im);
});

it("says how a command is given a key that it lacks, and nothing of keys where it fails otherwise", async () => {
  const hintOf = async (body: string) => (await (await script(body)).generate()).hint ?? "";
  // OpenAI's variable is in lower case here, so the first one that is set is Replicate's.
  expect(await hintOf("echo 'OPENAI_API_KEY is not set' >&2; exit 1")).toContain(
    "--generator-header REPLICATE_API_TOKEN=REPLICATE_API_TOKEN",
  );
  expect(await hintOf("echo 'no GPU' >&2; exit 1")).not.toContain("--generator-header");
});

it("says that a prompt is too long for an argument, and which placeholder holds it", async () => {
  const prompt = "fox ".repeat(35_000);
  expect(await (await script(COPY, ["{output}", "{prompt}"])).generate({ prompt })).toMatchObject({
    what: "invalid_request",
    message: "The prompt of 140 kB is too long for an argument.",
    hint: expect.stringContaining("{promptFile}"),
  });
  const inFile = await script(COPY, ["{output}", "{promptFile}"]);
  expect((await inFile.generate({ prompt })).reply).toEqual(MADE);
});

it("gives a command its reference images as files: copies, downloads and data: URLs", async () => {
  const files = await liveServer(response(200, PICTURE));
  const { generate, log } = await script(
    `out=$1; shift; for i; do echo "$i" >> "$log"; cmp "\${i#--image=}" "$picture" || exit 1; done; cp "$picture" "$out"`,
    ["{output}", "--image={image}"],
  );
  const references = [await fileReference(), { url: `${files.origin}/fox.png` }, DATA_REFERENCE];
  const { job } = await generate({ references });
  expect(await log()).toBe([1, 2, 3].map((n) => `--image=${scratchOf(job)}/reference-${n}.png\n`).join(""));
});

it.each([
  ["is gone", 404, "HTTP 404\\."],
  ["is no image", 200, "not an image: "],
])("starts nothing where a reference image %s", async (_how, status, why) => {
  const files = await liveServer(response(status, "<html>"));
  const { generate, log } = await script(`echo started > "$log"`, ["{output}", "{image}"]);
  const references = [{ url: `${files.origin}/fox.png?signature=s3cret` }];
  const message = new RegExp(`^The reference image http:.*/fox.png\\?… could not be downloaded: ${why}`);
  expect(await generate({ references, isPaid: true })).toMatchObject({
    what: "invalid_request",
    message: expect.stringMatching(message),
    left: [],
  });
  await expect(log()).rejects.toThrow("ENOENT");
});

it.each<[string, JobParts, RegExp]>([
  ["reference images", { references: [{ url: "https://x.example/fox.png" }] }, /write \{image\}/],
  ["a model", { model: "flux" }, /write \{model\}/],
  ["a field", { fields: { steps: 4 } }, /does not support the field steps: write \{steps\}/],
  ["a seed", { fields: { seed: 1 } }, /does not support the field seed: write \{seed\}/],
])("refuses %s where the command has no place for that", async (_what, parts, problem) => {
  expect((await script(COPY)).generator.check?.(await jobFor(parts))).toMatch(problem);
  const words = ["{output}", "{model}", "{image}", "{steps}", "{seed}"];
  expect((await script(COPY, words)).generator.check?.(await jobFor(parts))).toBeNull();
});

it("asks whether a placeholder is meant by a name that is near one, unless a field has it", async () => {
  const { generator, log } = await script(`echo started > "$log"`, ["{output}", "{weight}"]);
  expect(generator.check?.(await jobFor({}))).toMatch(/contains \{weight\}.*Did you mean \{height\}\?$/);
  expect(generator.check?.(await jobFor({ fields: { weight: 2 } }))).toBeNull();
  await expect(log()).rejects.toThrow("ENOENT");
});

it.each([
  ["output.png.png", 'cp "$picture" "$1.png"'],
  ["another extension", 'rm -f "$1"; cp "$picture" output.webp; echo log > output.log'],
])("takes an image that a program has named %s", async (_name, body) => {
  expect(await (await script(body)).generate()).toMatchObject({ images: [{ kind: "file" }] });
});

it("takes none of several that are named otherwise than it was told", async () => {
  const { generate } = await script('cp "$picture" output.webp; cp "$picture" output.jpg');
  expect(await generate()).toMatchObject({ what: "generation_failed" });
});

it.each([
  ["fails although it wrote an image", `${COPY}; echo 'no GPU' >&2; exit 3`, /exit code 3: no GPU\.$/],
  ["explains itself on standard output", "echo 'no GPU'; exit 1", /exit code 1: no GPU\.$/],
  ["writes nothing", "true", /wrote no image/],
  ["writes an empty file", ': > "$1"', /wrote no image/],
  ["leaves a link", 'ln -s "$picture" "$1"', /wrote no image/],
  ["makes the output a pipe", 'mkfifo "$1"', /wrote no image/],
])("a command that %s has failed, and may have been paid for", async (_how, body, why) => {
  const { generate, recover } = await script(body);
  const free = await generate();
  const message = expect.stringMatching(why);
  expect(free).toMatchObject({ what: "generation_failed", message, left: [] });
  expect(await recover(free.job)).toBeNull();
  const paid = await generate({ isPaid: true });
  expect(paid).toMatchObject({ what: "unknown", left: ["scratch"] });
  expect(paid.reply).toMatchObject({ savedPath: scratchOf(paid.job), isStopped: true });
});

const MORE =
  'mkdir more; cp "$picture" more/b.png; cp "$picture" a.png; echo "no image" > c.png; ln -s a.png d.png';

it("a paid command's further images are kept in its folder, and those of a free one are not", async () => {
  const { generate } = await script(`${COPY}; ${MORE}`, ["{output}", "{image}"]);
  const references = [DATA_REFERENCE];
  const paid = await generate({ isPaid: true, references });
  expect(paid).toMatchObject({ reply: MADE, left: ["image", "scratch"] });
  const extra = (name: string) => ({
    kind: "file",
    file: path.join(scratchOf(paid.job), name),
    isExtra: true,
  });
  expect(paid.images).toEqual([...imageOf(paid.job), extra("a.png"), extra("more/b.png")]);
  expect(await generate({ references })).toMatchObject({ reply: MADE, left: ["image"], images: [{}] });
});

it("a command that cannot work now is asked again later, paid or not", async () => {
  const { generate } = await script("echo 'the GPU is busy' >&2; exit 75");
  const message = "The command failed with exit code 75: the GPU is busy.";
  for (const isPaid of [false, true])
    expect(await generate({ isPaid })).toMatchObject({ what: "not_sent", message, left: [] });
});

it("a command that something else killed may be run again", async () => {
  const killed = { what: "unknown", message: "the command was ended by SIGKILL" };
  expect(await (await script("kill -KILL $$")).generate()).toMatchObject(killed);
});

it("waits for a command that is not there, and says so beforehand where it is asked", async () => {
  const commandOf = (...words: string[]) => opened({ kind: "command", name: "command:", words });
  const generator = await commandOf("/no/such/paint", "{promptFile}", "{output}");
  const message = "The command cannot be started: /no/such/paint: no such file or folder (ENOENT).";
  const how = { ...ALONE, onSent: () => expect.unreachable() };
  expect(told(await generator.submit(await jobFor(), how))).toMatchObject({ what: "not_sent", message });
  const unsent = { message, failure: { kind: "unsent" } };
  await expect(generator.models?.(ALONE.signal)).rejects.toMatchObject(unsent);
  expect(await (await commandOf("sh", "{output}")).models?.(ALONE.signal)).toBeNull();
});

it("never gets to run with a prompt that no program can be given", async () => {
  const { generate } = await script(COPY, ["{output}", "{prompt}"]);
  const message = expect.stringMatching(/cannot be started/);
  expect(await generate({ prompt: "a\0b" })).toMatchObject({ what: "invalid_request", message });
});

it("is not stopped by how much a command says", async () => {
  const { generate } = await script(`seq 200000; seq 200000 >&2; ${COPY}`);
  const { job } = await generate();
  expect(inspectFile(path.join(job.folder, "image")).ok).toBe(true);
});

const NEVER_ENDS = `trap '' TERM; echo $$ > "$log"; while :; do sleep 1; done`;

describe("a command that is given up", () => {
  /** Gives it up once it has written to its log. */
  const givenUp = async (body: string, parts: JobParts = {}) => {
    const world = await script(body);
    const stop = new AbortController();
    const running = world.generate(parts, { ...ALONE, signal: stop.signal });
    await expect.poll(() => world.log().catch(() => "")).toMatch(/\n$/);
    stop.abort(new TimeLimitError("It took too long."));
    return { ...(await running), log: await world.log() };
  };

  it("is asked to end, and is gone", async () => {
    const body = `trap 'echo asked >> "$log"; exit 0' TERM; echo started > "$log"; sleep 60 & wait`;
    const { what, reply, log, left } = await givenUp(body, { isPaid: true });
    expect([what, log]).toEqual(["unknown", "started\nasked\n"]);
    expect(reply).toMatchObject({ why: "the command was stopped before it ended", isStopped: true });
    expect(left).toEqual(["scratch"]);
  });

  it("is killed where it does not end within 5 s", async () => {
    const start = performance.now();
    const { reply, log, left } = await givenUp(NEVER_ENDS);
    expect(performance.now() - start).toBeGreaterThan(5_000);
    expect(reply).toMatchObject({ outcome: "unknown", isStopped: true });
    expect(isRunning(Number(log))).toBe(false);
    expect(left).toEqual([]);
  });

  it("has made its image where it ends well with it", async () => {
    const body = `trap 'cp "$picture" "$1"; exit 0' TERM; echo started > "$log"; sleep 60 & wait`;
    expect((await givenUp(body)).reply).toEqual(MADE);
  });

  it("is killed at once where the provider is closed", async () => {
    const { generate, generator, log } = await script(NEVER_ENDS);
    const stop = new AbortController();
    const running = generate({}, { ...ALONE, signal: stop.signal });
    await expect.poll(() => log().catch(() => "")).toMatch(/^\d+\n$/);
    const start = performance.now();
    stop.abort(new Error("given up"));
    await generator.close();
    expect((await running).reply).toMatchObject({ outcome: "unknown", isStopped: true });
    expect(performance.now() - start).toBeLessThan(4_500);
  });

  it("before it is started never runs", async () => {
    const { generate, log } = await script(`echo started > "$log"; ${COPY}`);
    const how = { ...ALONE, signal: AbortSignal.abort(new Error("given up")) };
    expect(await generate({ isPaid: true }, how)).toMatchObject({ what: "not_sent", left: [] });
    await expect(log()).rejects.toThrow("ENOENT");
  });
});

describe.skipIf(!existsSync("/proc/self/stat"))("after its process was killed, a command", () => {
  /** A command as a killed process leaves it: it runs, and its process is noted. */
  const left = async (body: string, parts: JobParts) => {
    const world = await script(body);
    const job = await jobFor(parts);
    const scratch = scratchOf(job);
    await mkdir(scratch);
    const [program = ""] = world.words;
    const how = { cwd: scratch, detached: true, stdio: "ignore" } as const;
    const child = spawn(program, [path.join(scratch, "output.png")], how);
    onTestFinished(() => void child.kill("SIGKILL"));
    await expect.poll(() => world.log().catch(() => "")).toMatch(/\n$/);
    await writeFile(path.join(scratch, ".process"), JSON.stringify(identifyProcess(child.pid ?? 0)));
    return { ...world, job, child };
  };
  const PAINTS = `echo $$ > "$log"; sleep 1; ${COPY}`;

  it("that is paid for is waited for, and its image is taken", async () => {
    const { job, recover, generator } = await left(PAINTS, { isPaid: true });
    expect(await recover(job)).toEqual(MADE);
    expect(await generator.images?.(job)).toEqual(imageOf(job));
    expect(await readdir(job.folder)).toEqual(["image"]);
    // Until it is recorded it may be asked for again.
    expect(await recover(job)).toEqual(MADE);
  });

  it.each([
    ["nothing", "exit 1"],
    ["half an image", 'head -c 50 "$picture" > "$1"'],
  ])("that is paid for and left %s is of unknown fate", async (_what, end) => {
    const { job, recover } = await left(`echo $$ > "$log"; sleep 1; ${end}`, { isPaid: true });
    const unknown = { outcome: "unknown", savedPath: scratchOf(job), isStopped: true };
    expect(await recover(job)).toMatchObject(unknown);
    expect(await readdir(job.folder)).toEqual(["scratch"]);
  });

  it("that is paid for has its further images kept too", async () => {
    const { job, recover, generator } = await left(`${PAINTS}; ${MORE}`, { isPaid: true });
    expect(await recover(job)).toEqual(MADE);
    expect(await generator.images?.(job)).toHaveLength(3);
    expect(await readdir(job.folder)).toEqual(["image", "scratch"]);
  });

  it("that is paid for runs on where nobody waits for it any longer", async () => {
    const { job, recover, log } = await left(NEVER_ENDS, { isPaid: true });
    const reply = await recover(job, AbortSignal.timeout(500));
    expect(reply).toMatchObject({
      outcome: "unknown",
      why: "the command is still running",
      isStopped: false,
    });
    expect(isRunning(Number(await log()))).toBe(true);
  });

  it("that is paid for is ended at its time limit", async () => {
    const { job, recover, log } = await left(NEVER_ENDS, { isPaid: true });
    const reply = await recover(job, AbortSignal.abort(new TimeLimitError("It took too long.")));
    expect(reply).toMatchObject({ outcome: "unknown", isStopped: true });
    expect(isRunning(Number(await log()))).toBe(false);
  });

  it("that is free is killed, for it can be run again", async () => {
    const { job, recover, log } = await left(NEVER_ENDS, {});
    expect(await recover(job)).toBeNull();
    const pid = Number(await log());
    await expect.poll(() => isRunning(pid)).toBe(false);
    expect(await readdir(job.folder)).toEqual([]);
  });

  it("that is free and had ended by itself has made its image", async () => {
    const { job, recover, child } = await left(PAINTS, {});
    await new Promise((resolve) => child.once("exit", resolve));
    expect(await recover(job)).toEqual(MADE);
  });

  it("that is another process with the same id is left alone", async () => {
    const { recover } = await script("");
    const job = await jobFor();
    const other = spawn("sleep", ["60"], { detached: true });
    onTestFinished(() => void other.kill("SIGKILL"));
    await mkdir(scratchOf(job));
    const identity = { ...identifyProcess(other.pid ?? 0), started: "1" };
    await writeFile(path.join(scratchOf(job), ".process"), JSON.stringify(identity));
    expect(await recover(job)).toBeNull();
    await pause(100);
    expect(other.signalCode).toBeNull();
  });

  it("that ended well before has made its image, and one that never started is not known", async () => {
    const { generate, recover } = await script(COPY);
    expect(await recover((await generate()).job)).toEqual(MADE);
    expect(await recover(await jobFor({ isPaid: true }))).toBeNull();
  });
});

const TOO_LARGE = { what: "unknown", message: "the command's image is larger than 100 MiB" };

it("ends a program that writes on and on, before it has filled the disk", async () => {
  const { generate } = await script(`while :; do head -c 20000000 /dev/zero >> "$1"; sleep 0.01; done`);
  expect(await generate()).toMatchObject(TOO_LARGE);
});

it("refuses an image of more than 100 MiB at once, and keeps what was paid for", async () => {
  const { generate } = await script(`${COPY}; truncate -s 101M "$1"`);
  expect(await generate()).toMatchObject({ ...TOO_LARGE, reply: { savedPath: null } });
  const paid = await generate({ isPaid: true });
  expect(paid).toMatchObject({ ...TOO_LARGE, reply: { savedPath: scratchOf(paid.job) } });
});
