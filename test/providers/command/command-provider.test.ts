import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { inspectFileAt } from "../../../src/lib/image/inspect.ts";
import { identityOf } from "../../../src/lib/processes.ts";
import { type GeneratorJob, TimeLimitError } from "../../../src/providers/generator.ts";
import type { GeneratorOptions } from "../../../src/providers/spec.ts";
import { PICTURE } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { response } from "../../support/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { ALONE, jobFor, opened } from "../job.ts";

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
  };
  const generator = await opened(
    { kind: "command", name: `command:${words.join(" ")}`, words },
    options,
    env,
  );
  return {
    generate: async (job: Partial<GeneratorJob> = {}, deps = ALONE) => {
      const whole = await jobFor(job);
      return { job: whole, image: await generator.generate(whole, deps) };
    },
    generator,
    log: () => readFile(path.join(folder, "log"), "utf8"),
  };
}

const COPY = 'cp "$picture" "$1"';

const failing = (kind: string, message: RegExp) =>
  expect.objectContaining({
    name: "GeneratorError",
    failure: { kind },
    message: expect.stringMatching(message),
  });

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
    { fields: { steps: 4 } },
  );
  const prompt = "a {width} fox\n'\"$HOME\\";
  const { job, image } = await generate({ prompt, model: "m", fields: { seed: 7, steps: 4 } });
  expect(await log()).toBe(`${job.folder}/scratch\n${prompt}\n${prompt}\n64x48\n--seed=7\nm\n4\n`);
  expect(await readdir(job.folder)).toEqual(["image"]);
  expect(image).toEqual({ file: path.join(job.folder, "image"), usage: null });
  expect(await readFile(image.file)).toEqual(PICTURE);
});

it("gives each image a seed of its own, which is the same when it is made again", async () => {
  const { generate, log } = await script(`echo "$2" >> "$log"; ${COPY}`, ["{output}", "{seed}"]);
  for (const index of [0, 0, 1]) await generate({ index });
  const [first, again, other] = (await log()).split("\n").map(Number);
  expect(first).toBe(again);
  expect(other).not.toBe(first);
  expect(first).toBeLessThan(2 ** 31);
});

it("hides keys and imggen's own settings from a command", async () => {
  const { generate, log } = await script(`env > "$log"; ${COPY}`);
  await generate();
  expect(await log()).toContain("HOME=/home/ada");
  expect(await log()).not.toMatch(/^IMGGEN_|sk-[12]/im);
});

it("gives a command its reference images as files: copies, downloads and data: URLs", async () => {
  const files = await liveServer((_request, socket) => void socket.write(response(200, PICTURE)));
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
  [
    "is gone",
    404,
    "",
    "refused",
    /^The reference image http:.*\/fox.png\?… could not be downloaded: HTTP 404\.$/,
  ],
  ["is no image", 200, "<html>", "refused", /^The reference image http:.*\/fox.png\?… is not an image: /],
])("starts nothing where a reference image %s", async (_how, status, body, kind, message) => {
  const files = await liveServer((_request, socket) => void socket.write(response(status, body)));
  const { generate, log } = await script(`echo started > "$log"`, ["{output}", "{image}"]);
  const references = [{ url: `${files.origin}/fox.png?signature=s3cret` }];
  await expect(generate({ references })).rejects.toEqual(failing(kind, message));
  await expect(log()).rejects.toThrow("ENOENT");
});

it("refuses reference images where the command has no place for them", async () => {
  const { generate } = await script(COPY);
  const references = [{ url: "https://x.example/fox.png" }];
  await expect(generate({ references })).rejects.toEqual(failing("refused", /there is no \{image\} in it/));
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
])("a command that %s has failed, and leaves nothing", async (_how, body, message) => {
  const { generator } = await script(body);
  const job = await jobFor();
  await expect(generator.generate(job, ALONE)).rejects.toEqual(failing("refused", message));
  expect(await readdir(job.folder)).toEqual([]);
  expect(await generator.recover(job)).toBeNull();
});

it("of a command that is paid for and failed nobody knows what it was charged for", async () => {
  const { generate } = await script("exit 1", ["{output}"], { isPaid: true });
  await expect(generate()).rejects.toEqual(failing("lost", /exit code 1/));
});

it("a command that something else killed may be run again", async () => {
  const { generate } = await script("kill -KILL $$");
  await expect(generate()).rejects.toEqual(failing("lost", /was ended by SIGKILL/));
});

it("waits for a command that is not there, and says so beforehand where it is asked", async () => {
  const words = ["/no/such/paint", "{promptFile}", "{output}"];
  const generator = await opened({ kind: "command", name: "command:", words });
  const missing = failing(
    "unreachable",
    /^The command cannot be started: \/no\/such\/paint: no such file or folder \(ENOENT\)\.$/,
  );
  await expect(generator.generate(await jobFor(), ALONE)).rejects.toEqual(missing);
  await expect(generator.models(ALONE.signal)).rejects.toEqual(missing);
  const there = await opened({ kind: "command", name: "command:", words: ["sh", "{output}"] });
  expect(await there.models(ALONE.signal)).toBeNull();
});

it("never gets to run with a prompt that no program can be given", async () => {
  const { generate } = await script(COPY, ["{output}", "{prompt}"]);
  await expect(generate({ prompt: "a\0b" })).rejects.toEqual(failing("refused", /cannot be started/));
});

it("is not stopped by how much a command says", async () => {
  const { generate } = await script(`seq 200000; seq 200000 >&2; ${COPY}`);
  expect((await inspectFileAt((await generate()).image.file)).ok).toBe(true);
});

it("asks a command to end at its time limit, and kills what does not", async () => {
  const { generate, log } = await script(
    `trap 'echo asked > "$log"; exit 0' TERM; sleep 60 & wait`,
    ["{output}"],
    {
      timeoutMs: 500,
    },
  );
  await expect(generate()).rejects.toEqual(
    failing("refused", /^The command took longer than 500 ms and was killed\.$/),
  );
  expect(await log()).toBe("asked\n");
});

it("asks it to end too where the queue's time for the job is over", async () => {
  const { generate, log } = await script(
    `trap 'echo asked > "$log"; exit 0' TERM; sleep 60 & wait`,
    ["{output}"],
    { timeoutMs: 1_000 },
  );
  const limit = new AbortController();
  setTimeout(() => limit.abort(new TimeLimitError("too long")), 900);
  await expect(generate({}, { ...ALONE, signal: limit.signal })).rejects.toEqual(
    failing("refused", /took longer than 1 s and was killed/),
  );
  expect(await log()).toBe("asked\n");
});

it("kills a command at once when its job is given up", async () => {
  const { generator, log } = await script(`trap '' TERM; echo $$ > "$log"; while :; do sleep 1; done`);
  const stop = new AbortController();
  const job = await jobFor();
  const running = generator.generate(job, { ...ALONE, signal: stop.signal });
  await expect.poll(log).toMatch(/^\d+\n$/);
  stop.abort(new Error("given up"));
  await expect(running).rejects.toThrow("given up");
  const pid = Number(await log());
  await expect
    .poll(() =>
      readFile(`/proc/${pid}/stat`, "utf8").then(
        (stat) => / [ZX] /.test(stat),
        () => true,
      ),
    )
    .toBe(true);
  expect(await readdir(job.folder)).toEqual([]);
});

it("kills a command that runs on after its process was killed, before the job is done again", async (test) => {
  test.skip(!existsSync("/proc/self/stat"), "processes cannot be told apart here");
  const { generator, log } = await script(`trap '' TERM; echo $$ > "$log"; while :; do sleep 1; done`);
  const job = await jobFor();
  const left = expect(generator.generate(job, ALONE)).rejects.toEqual(
    failing("lost", /was ended by SIGKILL/),
  );
  await expect.poll(log).toMatch(/^\d+\n$/);
  expect(await generator.recover(job)).toBeNull();
  await left;
});

it("kills nothing that only has the id of a command that ran before", async (test) => {
  test.skip(!existsSync("/proc/self/stat"), "processes cannot be told apart here");
  const { generator } = await script("");
  const job = await jobFor();
  const other = spawn("sleep", ["60"], { detached: true });
  onTestFinished(() => void other.kill("SIGKILL"));
  const identity = { ...identityOf(other.pid ?? 0), started: "1" };
  await mkdir(path.join(job.folder, "scratch"));
  await writeFile(path.join(job.folder, "scratch/.process"), JSON.stringify(identity));
  expect(await generator.recover(job)).toBeNull();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(other.signalCode).toBeNull();
});

it("knows the image of a command that ended well before its process was killed", async () => {
  const { generator } = await script(COPY);
  const job = await jobFor();
  const image = await generator.generate(job, ALONE);
  expect(await generator.recover(job)).toEqual(image);
});

it("refuses a field that the command has no place for", async () => {
  await expect(script(COPY, ["{output}"], { fields: { steps: 4 } })).rejects.toThrow(
    "The generator's command has no place for the field steps.",
  );
});
