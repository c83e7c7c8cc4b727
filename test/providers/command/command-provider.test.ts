import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
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
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { pause } from "../../support/wait.ts";
import { ALONE, type JobParts, jobFor, opened, told } from "../job.ts";

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

it("gives a command the job's parts, runs it in a folder of its own, and leaves nothing but the image", async () => {
  const { generate, log } = await script(
    `pwd > "$log"; cat "$2" >> "$log"; echo >> "$log"; shift 2; printf '%s\\n' "$@" >> "$log"; cp "$picture" output.png`,
    [
      "{output}",
      "{promptFile}",
      "{prompt}",
      "{width}x{height}",
      "--seed={seed}",
      "{model}",
      "--image={image}",
      "{steps}",
    ],
  );
  const prompt = "a {width} fox\n'\"$HOME\\";
  const { job, reply, images, left } = await generate({ prompt, model: "m", fields: { seed: 7, steps: 4 } });
  expect(await log()).toBe(`${job.folder}/scratch\n${prompt}\n${prompt}\n64x48\n--seed=7\nm\n4\n`);
  expect(left).toEqual(["image"]);
  expect(reply).toEqual(MADE);
  const file = path.join(job.folder, "image");
  expect(images).toEqual([{ kind: "file", file }]);
  expect(await readFile(file)).toEqual(PICTURE);
});

it("gives each image a seed of its own, which is the same when it is made again", async () => {
  const { generate, log } = await script(`echo "$2" >> "$log"; ${COPY}`, ["{output}", "{seed}"]);
  for (const index of [0, 0, 1]) await generate({ index });
  const [first, again, other] = (await log()).split("\n").map(Number);
  expect(first).toBe(again);
  expect(other).not.toBe(first);
  expect(first).toBeLessThan(2 ** 31);
});

it("hides every provider's key and imggen's own settings from a command", async () => {
  const { generate, log } = await script(`env > "$log"; ${COPY}`);
  await generate();
  expect(await log()).toContain("HOME=/home/ada");
  expect(await log()).not.toMatch(/^IMGGEN_|sk-[12]/im);
});

it("gives a command the variables of --generator-header", async () => {
  const headers = { OPENAI_API_KEY: "sk-given" };
  const { generate, log } = await script(`env > "$log"; ${COPY}`, undefined, { headers });
  await generate();
  expect(await log()).toMatch(/^OPENAI_API_KEY=sk-given$/m);
  expect(await log()).not.toContain("sk-2");
});

it("says how a command is given a key that it lacks, and nothing of keys where it fails otherwise", async () => {
  const flag = "--generator-header OPENAI_API_KEY=OPENAI_API_KEY";
  const lacking = await script("echo 'OPENAI_API_KEY is not set' >&2; exit 1");
  // Its variable is in lower case here, so the first one that is set is Replicate's.
  expect((await lacking.generate()).hint).toContain(flag.replaceAll("OPENAI_API_KEY", "REPLICATE_API_TOKEN"));
  expect((await (await script("echo 'no GPU' >&2; exit 1")).generate()).hint ?? "").not.toContain(
    "--generator-header",
  );
});

it("says that a prompt is too long for an argument, and which placeholder holds it", async () => {
  const { generate } = await script(COPY, ["{output}", "{prompt}"]);
  expect(await generate({ prompt: "fox ".repeat(35_000) })).toMatchObject({
    what: "invalid_request",
    message: "The prompt of 140 kB is too long for an argument.",
    hint: expect.stringContaining("{promptFile}"),
  });
  const other = await script(COPY, ["{output}", "{promptFile}"]);
  expect((await other.generate({ prompt: "fox ".repeat(35_000) })).reply).toEqual(MADE);
});

it("gives a command its reference images as files: copies, downloads and data: URLs", async () => {
  const files = await liveServer(response(200, PICTURE));
  const file = path.join(await temporaryFolder(), "0123abcd");
  await writeFile(file, PICTURE);
  const { generate, log } = await script(
    `out=$1; shift; for i; do echo "$i" >> "$log"; cmp "\${i#--image=}" "$picture" || exit 1; done; cp "$picture" "$out"`,
    ["{output}", "--image={image}"],
  );
  const { job } = await generate({
    references: [
      { file, mediaType: "image/png" },
      { url: `${files.origin}/fox.png` },
      { url: `data:image/png;base64,${PICTURE.toString("base64")}` },
    ],
  });
  const scratch = path.join(job.folder, "scratch");
  expect(await log()).toBe([1, 2, 3].map((n) => `--image=${scratch}/reference-${n}.png\n`).join(""));
});

it.each([
  ["is gone", 404, "", /^The reference image http:.*\/fox.png\?… could not be downloaded: HTTP 404\.$/],
  [
    "is no image",
    200,
    "<html>",
    /^The reference image http:.*\/fox.png\?… could not be downloaded: not an image: /,
  ],
])("starts nothing where a reference image %s", async (_how, status, body, message) => {
  const files = await liveServer(response(status, body));
  const { generate, log } = await script(`echo started > "$log"`, ["{output}", "{image}"]);
  const references = [{ url: `${files.origin}/fox.png?signature=s3cret` }];
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
  expect(generator.check?.(await jobFor({}))).toMatch(/holds \{weight\}.*is \{height\} meant\?$/);
  expect(generator.check?.(await jobFor({ fields: { weight: 2 } }))).toBeNull();
  await expect(log()).rejects.toThrow("ENOENT");
});

it.each([
  ["output.png.png", 'cp "$picture" "$1.png"'],
  ["another extension", 'rm -f "$1"; cp "$picture" output.webp; echo log > output.log'],
])("takes an image that a program has named %s", async (_name, body) => {
  const { generate } = await script(body);
  const { images } = await generate();
  expect(images).toMatchObject([{ kind: "file" }]);
});

it("takes none of several that are named otherwise than it was told", async () => {
  const { generate } = await script('cp "$picture" output.webp; cp "$picture" output.jpg');
  expect(await generate()).toMatchObject({ what: "generation_failed" });
});

it.each([
  [
    "fails although it wrote an image",
    `${COPY}; echo first; echo 'out of ideas' >&2; exit 3`,
    /^The command failed with exit code 3: out of ideas\.$/,
  ],
  [
    "explains itself on standard output",
    "echo 'no GPU'; exit 1",
    /^The command failed with exit code 1: no GPU\.$/,
  ],
  ["writes nothing", "true", /wrote no image/],
  ["writes an empty file", ': > "$1"', /wrote no image/],
  ["leaves a link", 'ln -s "$picture" "$1"', /wrote no image/],
])("a command that %s has failed, and may have been paid for", async (_how, body, message) => {
  const { generate, recover } = await script(body);
  const free = await generate();
  expect(free).toMatchObject({
    what: "generation_failed",
    message: expect.stringMatching(message),
    left: [],
  });
  expect(await recover(free.job)).toBeNull();
  const paid = await generate({ isPaid: true });
  expect(paid).toMatchObject({ what: "unknown", left: ["scratch"] });
  expect(paid.reply).toMatchObject({ savedPath: scratchOf(paid.job), isStopped: true });
});

const MORE =
  'mkdir more; cp "$picture" more/b.png; cp "$picture" a.png; echo "no image" > c.png; ln -s a.png d.png';

it("a paid command's further images are kept in its folder, and those of a free one are not", async () => {
  const { generate } = await script(`${COPY}; ${MORE}`, ["{output}", "{image}"]);
  const references = [{ url: `data:image/png;base64,${PICTURE.toString("base64")}` }];
  const paid = await generate({ isPaid: true, references });
  const scratch = scratchOf(paid.job);
  expect(paid).toMatchObject({ reply: MADE, left: ["image", "scratch"] });
  expect(paid.images).toEqual([
    { kind: "file", file: path.join(paid.job.folder, "image") },
    { kind: "file", file: path.join(scratch, "a.png"), isExtra: true },
    { kind: "file", file: path.join(scratch, "more", "b.png"), isExtra: true },
  ]);
  expect(await generate({ references })).toMatchObject({ reply: MADE, left: ["image"], images: [{}] });
});

it("a command that cannot work now is asked again later, paid or not", async () => {
  const { generate } = await script("echo 'the GPU is busy' >&2; exit 75");
  for (const isPaid of [false, true])
    expect(await generate({ isPaid })).toMatchObject({
      what: "not_sent",
      message: "The command failed with exit code 75: the GPU is busy.",
      left: [],
    });
});

it("a command that something else killed may be run again", async () => {
  const { generate } = await script("kill -KILL $$");
  const { what, message } = await generate();
  expect([what, message]).toEqual(["unknown", "the command was ended by SIGKILL"]);
});

it("waits for a command that is not there, and says so beforehand where it is asked", async () => {
  const words = ["/no/such/paint", "{promptFile}", "{output}"];
  const generator = await opened({ kind: "command", name: "command:", words });
  const message = "The command cannot be started: /no/such/paint: no such file or folder (ENOENT).";
  let isSent = false;
  const how = { ...ALONE, onSent: () => (isSent = true) };
  expect(told(await generator.submit(await jobFor(), how))).toMatchObject({ what: "not_sent", message });
  expect(isSent).toBe(false);
  await expect(generator.models?.(ALONE.signal)).rejects.toMatchObject({
    message,
    failure: { kind: "unsent" },
  });
  const there = await opened({ kind: "command", name: "command:", words: ["sh", "{output}"] });
  expect(await there.models?.(ALONE.signal)).toBeNull();
});

it("never gets to run with a prompt that no program can be given", async () => {
  const { generate } = await script(COPY, ["{output}", "{prompt}"]);
  expect(await generate({ prompt: "a\0b" })).toMatchObject({
    what: "invalid_request",
    message: expect.stringMatching(/cannot be started/),
  });
});

it("is not stopped by how much a command says", async () => {
  const { generate } = await script(`seq 200000; seq 200000 >&2; ${COPY}`);
  const { job } = await generate();
  expect(inspectFile(path.join(job.folder, "image")).ok).toBe(true);
});

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
    expect(reply).toMatchObject({ why: "the command was stopped before it had ended", isStopped: true });
    expect(left).toEqual(["scratch"]);
  });

  it("is killed where it does not end within 5 s", async () => {
    const start = performance.now();
    const { reply, log, left } = await givenUp(`trap '' TERM; echo $$ > "$log"; while :; do sleep 1; done`);
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
    const { generate, generator, log } = await script(
      `trap '' TERM; echo $$ > "$log"; while :; do sleep 1; done`,
    );
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
    const signal = AbortSignal.abort(new Error("given up"));
    expect(await generate({ isPaid: true }, { ...ALONE, signal })).toMatchObject({
      what: "not_sent",
      left: [],
    });
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
    const child = spawn(program, [path.join(scratch, "output.png")], {
      cwd: scratch,
      detached: true,
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await expect.poll(() => world.log().catch(() => "")).toMatch(/\n$/);
    await writeFile(path.join(scratch, ".process"), JSON.stringify(identifyProcess(child.pid ?? 0)));
    return { ...world, job, child };
  };
  const PAINTS = `echo $$ > "$log"; sleep 1; ${COPY}`;
  const NEVER_ENDS = `trap '' TERM; echo $$ > "$log"; while :; do sleep 1; done`;

  it("that is paid for is waited for, and its image is taken", async () => {
    const { job, recover, generator } = await left(PAINTS, { isPaid: true });
    expect(await recover(job)).toEqual(MADE);
    expect(await generator.images?.(job)).toEqual([{ kind: "file", file: path.join(job.folder, "image") }]);
    expect(await readdir(job.folder)).toEqual(["image"]);
    // Until it is recorded it may be asked for again.
    expect(await recover(job)).toEqual(MADE);
  });

  it.each([
    ["nothing", "exit 1"],
    ["half an image", 'head -c 50 "$picture" > "$1"'],
  ])("that is paid for and left %s is of unknown fate", async (_what, end) => {
    const { job, recover } = await left(`echo $$ > "$log"; sleep 1; ${end}`, { isPaid: true });
    expect(await recover(job)).toMatchObject({
      outcome: "unknown",
      savedPath: scratchOf(job),
      isStopped: true,
    });
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
    expect(reply).toMatchObject({ outcome: "unknown", why: "the command still runs", isStopped: false });
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

  it("that ended well before has made its image", async () => {
    const { generate, recover } = await script(COPY);
    const { job } = await generate();
    expect(await recover(job)).toEqual(MADE);
  });

  it("that never started is not known", async () => {
    const { recover } = await script(COPY);
    expect(await recover(await jobFor({ isPaid: true }))).toBeNull();
  });
});

/** A zombie that its parent has not waited for is none. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

it("ends a program that writes on and on, before it has filled the disk", async () => {
  const { generate } = await script(`while :; do head -c 20000000 /dev/zero >> "$1"; sleep 0.01; done`);
  const { what, message } = await generate();
  expect({ what, message }).toEqual({
    what: "unknown",
    message: "the command's image is larger than 100 MiB",
  });
});

it.each([true, false])("refuses an image of more than 100 MiB at once, paid: %s", async (isPaid) => {
  const { generate } = await script(`${COPY}; truncate -s 101M "$1"`);
  const { what, message, job, reply } = await generate({ isPaid });
  expect({ what, message }).toEqual({
    what: "unknown",
    message: "the command's image is larger than 100 MiB",
  });
  // What was paid for is kept.
  expect(reply).toMatchObject({ savedPath: isPaid ? scratchOf(job) : null });
});
