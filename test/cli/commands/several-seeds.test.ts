import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { imagesIn, jsonLines } from "../../support/batch-world.ts";
import { commandWorld, type Document } from "../../support/command-world.ts";
import { generatorWorld, makesImage, refuses } from "../../support/generator-world.ts";
import type { Behaviour, ScriptedServer } from "../../support/scripted-server.ts";
import { words } from "../../support/words.ts";

/** The seeds of all requests that a generator got, digit by digit, the smallest first. */
const seedsOf = (generator: Pick<ScriptedServer, "submits">): string[] =>
  generator
    .submits()
    .map(({ body }) => /"seed":(\d+)[,}]/.exec(body)?.[1] ?? "")
    .sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));

const FOX = ["generate", "a fox"];
const THREE = [...FOX, "--seed", "1-3"];
const TWO_SEEDS = "--seed and --field seed= are two seeds for one request.";

/** Answers a request of one seed in its own way, and makes an image for any other. */
const unlessSeed =
  (seed: number, behave: Behaviour): Behaviour =>
  (request, socket) =>
    (JSON.parse(request.body).seed === seed ? behave : makesImage)(request, socket);

describe("generate --seed 1-3", () => {
  it("submits one request for each seed, which its file names, and prints the paths", async () => {
    const { run, generator, cwd } = await generatorWorld();
    const { code, stdout, stderr } = await run([...THREE, "-o", "made/"]);
    expect(code, stderr).toBe(0);
    expect(seedsOf(generator)).toEqual(["1", "2", "3"]);
    const names = (await imagesIn(path.join(cwd, "made"))).toSorted();
    const withoutIds = names.map((name) => name.replace(/-[\da-f]{8}\./, "."));
    expect(withoutIds).toEqual(["a-fox-1.png", "a-fox-2.png", "a-fox-3.png"]);
    const paths = names.map((name) => path.join(cwd, "made", name));
    expect(stdout.trim().split("\n").toSorted()).toEqual(paths);
    expect(stderr).toContain("3 rows: 3 saved.");
  });

  it("is one document in JSON, with the result of each seed in their order", async () => {
    const { json } = await generatorWorld();
    const { code, document } = await json([...FOX, "--seed", "11,3,7"]);
    expect(code).toBe(0);
    const task = (seed: number) => ({ ok: true, status: "completed", request: { seed }, files: [{ seed }] });
    expect(document).toMatchObject({ ok: true, credits: 0, tasks: [task(11), task(3), task(7)] });
    expect(Object.keys(document)).toEqual(["ok", "tasks", "credits"]);
    expect(Object.keys(document.tasks?.[0] ?? {})).not.toContain("line");
  });

  it("submits only what is missing when it is run again, and all with --again", async () => {
    const { json, generator } = await generatorWorld();
    await json(THREE);
    const same = await json(THREE);
    expect(same).toMatchObject({ code: 0, document: { tasks: [1, 2, 3].map(() => ({ skipped: true })) } });
    expect(seedsOf(generator)).toHaveLength(3);
    expect((await json([...FOX, "--seed", "1-5"])).document.tasks).toHaveLength(5);
    expect(seedsOf(generator)).toEqual(["1", "2", "3", "4", "5"]);
    const again = await json([...THREE, "--again"]);
    expect(again).toMatchObject({ code: 0, document: { ok: true } });
    expect(seedsOf(generator)).toEqual(["1", "1", "2", "2", "3", "3", "4", "5"]);
    await json(THREE);
    expect(seedsOf(generator)).toHaveLength(8);
  });

  it("is submitted once by two equal commands at the same time", async () => {
    const { json, generator } = await generatorWorld();
    const ok = { code: 0, document: { ok: true } };
    expect(await Promise.all([json(THREE), json(THREE)])).toMatchObject([ok, ok]);
    expect(seedsOf(generator)).toEqual(["1", "2", "3"]);
  });

  it("shows with --dry-run how many requests there are, their seeds, the first and the sum, and sends nothing", async () => {
    const { json, run, generator } = await generatorWorld();
    const first = { request: { prompt: "a fox", seed: 1 }, sent: { body: { seed: 1 } } };
    expect((await json([...THREE, "--dry-run"])).document).toMatchObject({
      ...{ ok: true, dryRun: true, requests: 3, seeds: [1, 2, 3], credits: 0 },
      ...first,
    });
    const { stdout } = await run([...FOX, "--seed", "1-3,9", "--dry-run"]);
    expect(stdout).toMatch(/^POST http/);
    expect(stdout).toContain('"seed": 1');
    expect(stdout.split("\n").slice(-3)).toEqual([
      "seeds: 1-3, 9",
      "4 requests, 4 to submit: free, nothing was sent",
      "",
    ]);
    expect(generator.requests).toEqual([]);
    // Only a run asks the generator for its model.
    await json([...THREE, "-m", "flux"]);
    expect((await json([...FOX, "-m", "flux", "--seed", "1-5", "--dry-run"])).document).toMatchObject({
      ...{ requests: 2, seeds: [4, 5], request: { seed: 4 }, sent: { body: { seed: 4 } } },
    });
    expect(seedsOf(generator)).toHaveLength(3);
  });

  it("takes each seed once, up to 1000 of them, digit by digit beyond 2^53", async () => {
    const { json, generator } = await generatorWorld();
    const seedsIn = async (seeds: string) =>
      (await json([...FOX, "--seed", seeds, "--dry-run"])).document.seeds ?? [];
    expect(await seedsIn("3, 1-4,2")).toEqual([3, 1, 2, 4]);
    expect(await seedsIn("1-1000")).toHaveLength(1000);
    expect(await seedsIn("18446744073709551614-18446744073709551615")).toEqual([
      "18446744073709551614",
      "18446744073709551615",
    ]);
    expect((await json([...FOX, "--seed", "9007199254740991-9007199254740993"])).code).toBe(0);
    expect(seedsOf(generator)).toEqual(["9007199254740991", "9007199254740992", "9007199254740993"]);
  });

  it.each([
    ["--seed 5-1", '--seed "5-1": write the smaller number first.'],
    ["--seed 1-1001", '--seed "1-1001": at most 1000 seeds.'],
    ["--seed 0-18446744073709551615", '--seed "0-18446744073709551615": at most 1000 seeds.'],
    ["--seed 1,,2", '--seed "" is not a whole number (0 to 18446744073709551615).'],
    ["--seed 1-x", '--seed "1-x" is not a whole number (0 to 18446744073709551615).'],
    [
      "--seed 1-18446744073709551616",
      '--seed "18446744073709551616" is above 18446744073709551615, the largest seed of any generator.',
    ],
    ["-o fox.png", "--output fox.png is for one image, but several seeds make several images."],
    ["-o -", "--output - is for one image, but several seeds make several images."],
    ["--no-wait", "--no-wait cannot be used with several seeds."],
    ["--reuse", "--reuse cannot be used with several seeds."],
    ["--check-images", "--check-images cannot be used with several seeds."],
    ["-n 2", "With several seeds each request makes one image."],
    ["-f seed=4", TWO_SEEDS],
    ["--field-json seed=4", TWO_SEEDS],
    ["--sandbox", expect.stringMatching(/^--seed cannot be used: the service does not support it/)],
    [
      "--generator gemini",
      expect.stringMatching(/^--seed cannot be used: this generator has no field for a seed/),
    ],
    [
      '--generator "command:/bin/echo {promptFile} {output}"',
      "The command does not support the field seed: write {seed} where its value belongs.",
    ],
  ])("is refused with %s, as one request is, and nothing is sent", async (flags, message) => {
    const { json, generator } = await generatorWorld();
    const args = [...(flags.startsWith("--seed") ? FOX : THREE), ...words(flags)];
    expect(await json(args)).toMatchObject({ code: 2, document: { error: { message } } });
    expect(generator.submits()).toEqual([]);
  });

  it.each([["--concurrency", "2"], ["--retry-failed"], ["--resubmit-unknown"]])(
    "has the flag %s, which one seed has not",
    async (...flag) => {
      const { json, generator } = await generatorWorld();
      const message = `${flag[0]} can be used only with several seeds, such as --seed 1-4.`;
      const refused = { code: 2, document: { error: { message } } };
      expect(await json([...FOX, "--seed", "1", ...flag])).toMatchObject(refused);
      expect(generator.submits()).toEqual([]);
      expect((await json([...THREE, ...flag])).code).toBe(0);
    },
  );

  it("asks above confirmAbove for the sum of all seeds, and keeps one budget", async () => {
    const { json, run, generator } = await generatorWorld();
    const many = [...FOX, "--seed", "1-13", "--generator-paid"];
    const refused = await json(many);
    expect(refused).toMatchObject({ code: 2, document: { error: { type: "budget_exceeded" } } });
    const no = await run(many, { terminal: true, env: { TERM: "dumb" }, typed: "n\n" });
    expect([no.code, no.stderr]).toEqual([2, expect.stringContaining("Spend an estimated 104 credits?")]);
    expect(generator.submits()).toEqual([]);
    expect((await json([...many, "--yes"])).code).toBe(0);
    expect(generator.submits()).toHaveLength(13);
  });

  it("exits 10 if one of them fails, names --retry-failed, and submits that one again", async () => {
    let isBroken = true;
    const world = await generatorWorld((request, socket) =>
      (isBroken ? unlessSeed(2, refuses(400, "content_policy_violation")) : makesImage)(request, socket),
    );
    const first = await world.run(THREE);
    expect(first.code).toBe(10);
    expect(first.stderr).toMatch(/^seed 2: failed: /m);
    const { document } = await world.json(THREE);
    expect(document).toMatchObject({ ok: false, tasks: [{ ok: true }, { ok: false }, { ok: true }] });
    isBroken = false;
    expect((await world.json([...THREE, "--retry-failed"])).document).toMatchObject({ ok: true });
    expect(new Set(seedsOf(world.generator))).toEqual(new Set(["1", "2", "3"]));
  });

  it.each([
    [false, "no", "that was not begun before a signal that it was not sent"],
    [
      true,
      "unknown",
      "of an earlier run that a signal kept from being submitted again that it may be charged",
    ],
  ])("says of a seed (run again: %s, charged: %s) %s", async (isAgain, charged) => {
    const controller = new AbortController();
    const paid = [...THREE, "--generator-paid", "--concurrency", "1"];
    let isStopped = !isAgain;
    const { json, generator } = await generatorWorld((request, socket) => {
      if (isStopped) controller.abort(new InterruptedError("SIGINT"));
      makesImage(request, socket);
    });
    if (isAgain) expect((await json(paid)).code).toBe(0);
    isStopped = true;
    const { code, document } = await json([...paid, "--again"], { signal: controller.signal });
    expect([code, document.tasks?.length]).toEqual([130, 3]);
    expect(document.tasks?.[2]).toMatchObject({ ok: false, charged, error: { type: "interrupted" } });
    expect(generator.submits()).toHaveLength(isAgain ? 4 : 1);
  });

  it("counts all of its seeds in --max-credits, those of an earlier run too, and no other image of the folder", async () => {
    const { json, generator } = await generatorWorld();
    const cap = ["--generator-paid", "--generator-price", "4", "--max-credits", "8"];
    const refused = { code: 2, document: { error: { type: "budget_exceeded" } } };
    expect(await json([...THREE, ...cap])).toMatchObject(refused);
    expect(generator.submits()).toEqual([]);
    for (const prompt of ["an owl", "a fox"])
      expect((await json(["generate", prompt, "--seed", "1-2", ...cap])).code).toBe(0);
    expect(await json([...THREE, ...cap])).toMatchObject(refused);
    expect(generator.submits()).toHaveLength(4);
  });

  it("takes --name as it is given, with {seed} in it", async () => {
    const { run, cwd } = await generatorWorld();
    expect((await run([...THREE, "--name", "fox-{seed}"])).code).toBe(0);
    expect((await imagesIn(cwd)).toSorted()).toEqual(["fox-1.png", "fox-2.png", "fox-3.png"]);
  });
});

describe("--field seed=1-3", () => {
  it("is the same as --seed 1-3, under the generator's own name", async () => {
    const { json, generator } = await generatorWorld();
    await json(THREE);
    const same = await json([...FOX, "-f", "seed=1-4", "-f", "steps=20-30"]);
    expect(same.document.tasks).toHaveLength(4);
    expect(seedsOf(generator)).toHaveLength(7);
    expect(generator.submits().at(-1)?.body).toContain('"steps":"20-30"');
    expect((await json([...FOX, "-f", "seed=1-3"])).code).toBe(0);
    expect((await json(["compare", "a fox", "-f", "seed=1-3"])).code).toBe(0);
    expect((await json(["compare", "a fox", "--seed", "1,2,3"])).code).toBe(0);
    expect(seedsOf(generator)).toHaveLength(7);
  });

  it.each(["compare fox", "batch p.txt"])("is refused beside --seed: %s", async (command) => {
    const { json, cwd, generator } = await generatorWorld();
    await writeFile(path.join(cwd, "p.txt"), "a fox\n");
    const refused = { code: 2, document: { error: { message: TWO_SEEDS } } };
    expect(await json([...words(command), "--seed", "1", "-f", "seed=2"])).toMatchObject(refused);
    expect(generator.submits()).toEqual([]);
  });

  it("is refused beside --seed by rerun", async () => {
    const { json, generator } = await generatorWorld();
    const { document } = await json([...FOX, "--seed", "1"]);
    const rerun = ["rerun", String(document.taskId), "-f", "seed=2"];
    for (const seed of ["3", "random"]) expect((await json([...rerun, "--seed", seed])).code).toBe(2);
    expect(generator.submits()).toHaveLength(1);
  });
});

describe("batch --seed 1-3", () => {
  const row = (document: Document) => [Number(document.line), document.request?.seed];

  it("submits each row once for each seed, but for one that has a seed of its own", async () => {
    const { run, generator, cwd } = await generatorWorld();
    const manifest = ["a fox", { seed: 8 }, { fields: { seed: 9 } }].map((each) =>
      JSON.stringify(typeof each === "string" ? { prompt: each } : { prompt: "a hen", ...each }),
    );
    await writeFile(path.join(cwd, "rows.jsonl"), manifest.join("\n"));
    const batch = ["batch", "rows.jsonl", "-o", "made", "--json"];
    const rows = jsonLines((await run([...batch, "--seed", "1-3", "--dry-run"])).stdout).slice(0, -1);
    expect(rows.map(row)).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
      [2, 8],
      [3, undefined],
    ]);
    expect((await run([...batch, "--seed", "1-3"])).code).toBe(0);
    expect(seedsOf(generator)).toEqual(["1", "2", "3", "8", "9"]);
    expect(await imagesIn(path.join(cwd, "made"))).toContainEqual(expect.stringMatching(/^a-fox-3-/));
    expect((await run([...batch, "-f", "seed=1-5"])).code).toBe(0);
    expect(seedsOf(generator)).toEqual(["1", "2", "3", "4", "5", "8", "9"]);
  });

  it("refuses a row with an exact file or several images", async () => {
    const { json, cwd } = await generatorWorld();
    const rows = ['{"prompt":"a fox","output":"fox.png"}', '{"prompt":"a hen","maxImages":2}'];
    await writeFile(path.join(cwd, "rows.jsonl"), rows.join("\n"));
    const { code, document } = await json(["batch", "rows.jsonl", "--seed", "1-3"]);
    expect(code).toBe(2);
    expect(String(document.error?.message).split("\n").slice(1)).toEqual([
      'line 1: output "fox.png" is one file, but several seeds make several files.',
      "line 2: maxImages is 2, but with several seeds each row makes one image.",
    ]);
    expect((await json(["batch", "rows.jsonl", "--seed", "1-3", "-n", "2"])).code).toBe(2);
  });

  it("names a row by its line and its seed", async () => {
    const world = await generatorWorld(unlessSeed(2, refuses(400, "content_policy_violation")));
    await writeFile(path.join(world.cwd, "p.txt"), "a fox\n");
    const { stderr } = await world.run(["batch", "p.txt", "--seed", "1-3"]);
    expect(stderr).toMatch(/^line 1 seed 2: failed: /m);
  });
});

describe("compare --seed 1,2", () => {
  it("submits each cell with each seed, and omits the columns that do not vary", async () => {
    const { run, json, generator, cwd } = await generatorWorld();
    const args = ["compare", "a fox", "-r", "1:1,16:9", "--seed", "1-2"];
    const head = (stdout: string) => stdout.split("\n")[0]?.split(/ {2,}/);
    const { code, stdout } = await run(args);
    expect([code, head(stdout)]).toEqual([0, ["RATIO", "SEED", "SECONDS", "FILE"]]);
    expect(seedsOf(generator)).toEqual(["1", "1", "2", "2"]);
    const names = (await imagesIn(cwd)).map((name) => name.replace(/-[\da-f]{8}\.png/, ""));
    const cells = ["16x9-1", "16x9-2", "1x1-1", "1x1-2"];
    expect(names.toSorted()).toEqual(cells.map((cell) => `a-fox-flux-${cell}`));
    expect(head((await run([...args, "--dry-run"])).stdout)).toEqual(["RATIO", "SEED"]);
    const { document } = await json(args);
    expect(document.cells?.[1]?.request).toMatchObject({ model: "flux", ratio: "1:1", seed: 2 });
  });

  it("has no file with the word default in its name where no model is named", async () => {
    const { run } = await commandWorld();
    const generator = "command:/bin/echo {output} {seed} {promptFile}";
    const compare = ["compare", "a fox", "--seed", "1-2", "--dry-run", "--generator", generator];
    const { code, stdout } = await run(compare);
    expect(code).toBe(0);
    expect(stdout).not.toContain("default");
  });
});
