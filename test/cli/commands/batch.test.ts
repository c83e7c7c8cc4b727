import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { rowDigest } from "../../../src/core/batch/batch-row.ts";
import { accepts, batchWorld, imagesIn, PRICED, TWO_CREDITS } from "../../support/batch-world.ts";
import { NO_ACCOUNT, submitted } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";
import { completedAt, inTurn, stillRunning } from "../../support/scripts.ts";

const MODEL = ["-m", "z-image"];

describe("a batch", () => {
  it("submits each line of a .txt, and prints the path of each image on standard output alone", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox", "", "# a comment", "a hen");
    const { code, stdout, stderr } = await world.run(["batch", "p.txt", ...MODEL, "--output", "pictures"]);
    expect(code, stderr).toBe(0);
    expect(world.prompts().toSorted()).toEqual(["a fox", "a hen"]);
    const paths = stdout.trimEnd().split("\n");
    const folder = path.join(world.cwd, "pictures");
    expect(paths.map((each) => path.dirname(each))).toEqual([folder, folder]);
    for (const each of paths) expect(await readFile(each)).toEqual(PICTURE);
    for (const each of paths) expect(stderr).not.toContain(path.basename(each));
    expect(await imagesIn(folder)).toEqual(paths.map((each) => path.basename(each)).toSorted());
  });

  it.each([
    ["--ratio", "7:5"],
    ["--quality", "9K"],
    ["--seed", "4"],
  ])("names %s in a problem with its value, and the field where the row has set it", async (flag, value) => {
    const world = await batchWorld();
    const field = flag.slice(2);
    await world.manifest("p.jsonl", { prompt: "a fox" }, { prompt: "a hen", [field]: value });
    const { code, stderr } = await world.run(["batch", "p.jsonl", ...MODEL, flag, value, "--dry-run"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`^line 1: ${flag} `, "m"));
    expect(stderr).toMatch(new RegExp(`^line 2: ${field} `, "im"));
  });

  it("takes .jsonl, with a value for each key", async () => {
    const world = await batchWorld({ submit: accepts });
    const image = ["https://images.test/1.png", "https://images.test/2.png"];
    const request = { prompt: "a fox", model: PRICED, ratio: "4:3", quality: "2K", image };
    const hen = { prompt: "a hen", model: "z-image" };
    await world.manifest("p.jsonl", { ...request, output: "animals/red fox.png" }, hen);
    const { code, rows } = await world.batchJson(["p.jsonl"]);
    expect(code).toBe(0);
    expect(submitted(world)).toEqual(expect.arrayContaining([request, hen]));
    const fox = rows.find(({ taskId }) => String(taskId) === "task-a-fox");
    expect(fox?.files?.[0]?.path).toBe(path.join(world.cwd, "animals", "red fox.png"));
  });

  it.each([
    ["JSON lines", '{"prompt":"a fox"}\n{"prompt":"a hen"}\n'],
    ["plain prompts", "a fox\na hen"],
  ])("reads %s from standard input for -", async (_name, input) => {
    const world = await batchWorld();
    const { code } = await world.run(["batch", "-", ...MODEL], { input });
    expect(code).toBe(0);
    expect(world.prompts().toSorted()).toEqual(["a fox", "a hen"]);
  });

  it("takes what a row leaves out from the flags, the environment and the config, in that order", async () => {
    const world = await batchWorld();
    await world.run(["config", "set", "quality", "2K"]);
    await world.manifest("p.jsonl", { prompt: "a fox" }, { prompt: "a hen", ratio: "3:4", quality: "1K" });
    const env = { IMGGEN_MODEL: PRICED };
    expect((await world.run(["batch", "p.jsonl", "--ratio", "16:9"], { env })).code).toBe(0);
    expect(submitted(world)).toEqual(
      expect.arrayContaining([
        { prompt: "a fox", model: PRICED, ratio: "16:9", quality: "2K" },
        { prompt: "a hen", model: PRICED, ratio: "3:4", quality: "1K" },
      ]),
    );
  });

  it("names every bad row with its line, and sends nothing, not even the good ones", async () => {
    const world = await batchWorld();
    await world.manifest(
      "p.jsonl",
      { prompt: "a fox" },
      { prompt: "" },
      "{",
      { prompt: "a hen", model: 7 },
      { prompt: "a cat", ratio: "21:9" },
      { prompt: "a dog", output: "../dog.png" },
      { prompt: "an owl", output: "owl" },
      { prompt: "an owl again", output: "OWL" },
    );
    const { code, stdout, stderr } = await world.run(["batch", "p.jsonl", ...MODEL]);
    expect([code, stdout]).toEqual([2, ""]);
    const lines = [...stderr.matchAll(/\bline (\d): /g)].map(([, line]) => Number(line));
    expect([...new Set(lines)]).toEqual([2, 3, 4, 5, 6, 8]);
    expect(stderr).toContain("Nothing was sent.");
    expect(world.server.requests).toEqual([]);
    const { document } = await world.json(["batch", "p.jsonl", ...MODEL]);
    const error = { type: "invalid_request", exitCode: 2 };
    expect(document).toMatchObject({ ok: false, charged: "no", error });
    const problems = Object.values(document.error?.problems ?? {});
    expect([...new Set(problems.map(({ line }) => line))]).toEqual([2, 3, 4, 5, 6, 8]);
    expect(await world.listing()).not.toContain("home/state");
  });
});

it("a warning that many rows share is printed once", async () => {
  const world = await batchWorld();
  await world.manifest("p.txt", "a fox", "a hen", "an owl");
  const { code, stderr } = await world.run(["batch", "p.txt", "-m", PRICED, "--dry-run"]);
  expect(code).toBe(0);
  expect(stderr.match(/^warning: gamma-image-2 has no documented price/gm)).toHaveLength(1);
});

describe("where a batch's images go", () => {
  it("is no file that exists already: exit 2, its line named, nothing sent; --overwrite replaces it", async () => {
    const world = await batchWorld();
    await writeFile(path.join(world.cwd, "fox.png"), "mine");
    await world.manifest("p.jsonl", { prompt: "a hen" }, { prompt: "a fox", output: "fox.png" });
    for (const flags of [[], ["--dry-run"]])
      expect(await world.run(["batch", "p.jsonl", ...MODEL, ...flags])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/line 2: .*fox\.png.* exists already/),
      });
    expect(world.server.requests).toEqual([]);
    expect((await world.run(["batch", "p.jsonl", ...MODEL, "--overwrite"])).code).toBe(0);
    expect(await readFile(path.join(world.cwd, "fox.png"))).toEqual(PICTURE);
  });
});

describe("--shard", () => {
  it("splits a batch into shards that together submit every row once, by its content", async () => {
    const world = await batchWorld();
    const prompts = Array.from({ length: 12 }, (_, index) => `fox ${index}`);
    await world.manifest("p.txt", ...prompts);
    for (const shard of ["1/3", "2/3", "3/3"]) {
      const before = world.prompts().length;
      expect((await world.run(["batch", "p.txt", ...MODEL, "--shard", shard, "-o", "out"])).code).toBe(0);
      const own = world.prompts().slice(before);
      const part = (prompt: string) =>
        Number.parseInt(rowDigest({ prompt, model: "z-image" }, undefined).slice(0, 12), 16) % 3;
      expect(new Set(own.map(part))).toEqual(new Set([Number(shard[0]) - 1]));
    }
    expect(world.prompts().toSorted()).toEqual(prompts.toSorted());
    expect((await world.run(["batch", "p.txt", ...MODEL, "-o", "out"])).code).toBe(0);
    expect(world.server.submits()).toHaveLength(12);
  });
});

describe("columns that no request has", () => {
  const ROWS = ["prompt,colour,style", ",red,oil", ",blue,ink", "an owl,grey,"];

  it("are a warning, and the rows are submitted", async () => {
    const world = await batchWorld();
    await world.manifest("p.csv", "prompt,colour", "a fox,red", "a hen,blue");
    const { code, stderr } = await world.run(["batch", "p.csv", ...MODEL, "-o", "out"]);
    expect(code).toBe(0);
    const warning =
      'warning: The column "colour" is not used; {colour} can be used in a template and in a file name.';
    expect(stderr.split("\n").filter((line) => line === warning)).toHaveLength(1);
    expect(world.prompts().toSorted()).toEqual(["a fox", "a hen"]);
  });

  it("give prompts with --template to rows without one, and are then no warning", async () => {
    const world = await batchWorld();
    await world.manifest("p.csv", ...ROWS);
    const template = ["--template", "a {colour} fox, {style}"];
    const { code, stderr } = await world.run(["batch", "p.csv", ...MODEL, "-o", "out", ...template]);
    expect(code).toBe(0);
    expect(stderr).not.toContain("warning");
    expect(world.prompts().toSorted()).toEqual(["a blue fox, ink", "a red fox, oil", "an owl"]);
  });

  it("give file names with --name, safely, and resume under the same names", async () => {
    const world = await batchWorld();
    await world.manifest("p.csv", "prompt,sku", "a fox,../A-1", "a hen,{slug}");
    const args = ["batch", "p.csv", ...MODEL, "-o", "out", "--name", "{sku}-{quality}"];
    expect((await world.run(args)).code).toBe(0);
    expect(await imagesIn(path.join(world.cwd, "out"))).toEqual(["A-1.png", "slug-.png"]);
    expect((await world.batchJson(args.slice(1))).summary).toMatchObject({ saved: 0, skipped: 2 });
  });

  it("that a row lacks make it a bad row, and nothing is sent", async () => {
    const world = await batchWorld();
    await world.manifest("p.csv", ...ROWS);
    const args = ["batch", "p.csv", ...MODEL, "-o", "out", "--template", "a {colour} fox", "--name"];
    for (const [name, lacked, lines] of [
      ["{colour}-{size}", "{size}", [2, 3, 4]],
      ["{style}", "{style}", [4]],
    ] as const) {
      const { code, stderr } = await world.run([...args, name]);
      expect(code).toBe(2);
      for (const line of lines)
        expect(stderr).toContain(`line ${line}: the row has no value for ${lacked}, which --name uses.`);
    }
    expect(world.server.requests).toEqual([]);
  });
});

describe("--dry-run", () => {
  it("shows what it costs, and needs no key, opens no connection and writes nothing", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox", "a hen");
    const before = await world.listing();
    const args = ["batch", "p.txt", ...TWO_CREDITS, "-o", "out", "--dry-run"];
    const stdout = "2 rows, 2 to submit: 4 credits, nothing was sent\n";
    expect(await world.run(args, { env: NO_ACCOUNT })).toMatchObject({ code: 0, stdout });
    expect(world.server.requests).toEqual([]);
    expect(await world.listing()).toEqual(before);
  });

  it("shows each request and the sum under --json", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox", "", "a hen");
    const { code, rows, summary } = await world.batchJson(["p.txt", ...TWO_CREDITS, "--dry-run"]);
    expect(code).toBe(0);
    const request = (prompt: string) => ({ prompt, model: PRICED, quality: "1K" });
    expect(rows).toEqual([
      { ok: true, dryRun: true, row: 1, line: 1, request: request("a fox"), credits: 2 },
      { ok: true, dryRun: true, row: 2, line: 3, request: request("a hen"), credits: 2 },
    ]);
    const byModel = [{ model: PRICED, quality: "1K", rows: 2, credits: 4 }];
    const counts = { rows: 2, saved: 0, toSubmit: 2 };
    expect(summary).toEqual({ type: "summary", dryRun: true, ...counts, credits: 4, byModel });
  });

  it("counts what earlier runs have saved as a run does, without a key", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox", "a hen");
    await world.run(["batch", "p.txt", ...TWO_CREDITS, "-o", "out"]);
    await world.manifest("p.txt", "a fox", "an owl", "a hen");
    // What a killed process left behind is for a run to remove.
    const claims = path.join(world.home, "state/tasks/batches");
    const draft = path.join(claims, (await readdir(claims))[0] ?? "", ".0a1b-1.1.0a1b2c3d");
    await writeFile(draft, "");
    await utimes(draft, 0, 0);
    const before = await world.listing();
    const args = ["batch", "p.txt", ...TWO_CREDITS, "-o", "out", "--dry-run"];
    const { stdout } = await world.run(args, { env: { IMGGEN_API_KEY: undefined } });
    expect(stdout).toBe(
      "3 rows, 2 already saved, 4 credits already charged, 1 to submit: 2 credits, nothing was sent\n",
    );
    expect(await world.listing()).toEqual(before);
    const capped = await world.run([...args, "--max-credits", "5"]);
    expect(capped).toMatchObject({ code: 2, stderr: expect.stringContaining("may have been charged 4") });
    await world.run(args.slice(0, -1));
    expect(await readdir(path.dirname(draft))).not.toContain(path.basename(draft));
  });

  it("breaks rows and credits down by model and quality", async () => {
    const world = await batchWorld();
    const rows = ["prompt,model,quality", "a fox,gamma-image-2,2K", "a hen,gamma-image-2,2K"];
    await world.manifest("p.csv", ...rows, "an owl,gamma-image-2,4K", "a wren,z-image,");
    const { stdout } = await world.run(["batch", "p.csv", "-o", "out", "--dry-run"]);
    expect(stdout.trimEnd().split("\n")).toEqual([
      "4 rows, 4 to submit: 16 credits, and 1 row of unknown cost, nothing was sent",
      "MODEL          QUALITY  ROWS  CREDITS",
      "gamma-image-2  2K       2     8",
      "gamma-image-2  4K       1     8",
      "z-image        -        1     ?",
    ]);
  });
});

describe("--json", () => {
  it("is a line for each row with which one it is, then the summary, and nothing else", async () => {
    const world = await batchWorld({ submit: accepts, poll: inTurn(stillRunning, completedAt("/1.png")) });
    await world.manifest("p.jsonl", { prompt: "a fox" }, "", { prompt: "a hen" });
    const { code, rows, summary, stderr } = await world.batchJson(["p.jsonl", ...TWO_CREDITS]);
    expect(code).toBe(0);
    const byRow = rows.toSorted((a, b) => Number(a.row) - Number(b.row));
    const charged = { ok: true, credits: 2, charged: "yes" };
    expect(byRow).toMatchObject([
      { ...charged, row: 1, line: 1, taskId: "task-a-fox" },
      { ...charged, row: 2, line: 3, taskId: "task-a-hen" },
    ]);
    const counts = { rows: 2, saved: 2, failed: 0, unknown: 0, skipped: 0 };
    expect(summary).toMatchObject({ type: "summary", ...counts, credits: 4 });
    expect(stderr).toContain("2 rows, 2 to submit: 4 credits.");
  });
});
