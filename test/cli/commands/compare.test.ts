import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { imagesIn } from "../../support/batch-world.ts";
import { commandWorld, submitted } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";
import { type Behaviour, failure, response, success } from "../../support/scripted-server.ts";
import { inTurn } from "../../support/scripts.ts";
import { words } from "../../support/words.ts";

const COMPARE = ["compare", "a fox", "-m", "gamma-image-2,delta-Image", "-r", "1:1", "-q", "1K,2K"];

describe("compare", () => {
  it("submits each cell that the matrix allows, and lists the others with the reason", async () => {
    const world = await commandWorld();
    const { code, document } = await world.json(COMPARE);
    expect(code).toBe(0);
    expect(document).toMatchObject({
      ok: true,
      credits: 6,
      cells: [
        { ok: true, credits: 2, request: { model: "gamma-image-2", ratio: "1:1", quality: "1K" } },
        { ok: true, credits: 4, request: { model: "gamma-image-2", ratio: "1:1", quality: "2K" } },
      ],
      skipped: [
        { model: "delta-Image", ratio: "1:1", quality: "1K", reason: expect.stringContaining("no quality") },
        { model: "delta-Image", ratio: "1:1", quality: "2K", reason: expect.stringContaining("no quality") },
      ],
    });
    expect(world.server.submits()).toHaveLength(2);
  });

  const MANY = words('compare "a fox" -m gamma-image-2,z-image,delta-Image -r 1:1,16:9 -q 1K,2K');
  const TERMINAL = { terminal: true, columns: 200 };

  it("says of a few skipped cells which each is, and of many what each model takes, on a terminal or not", async () => {
    const world = await commandWorld();
    const few = await world.run([...COMPARE, "--dry-run"], TERMINAL);
    expect(few.stderr).toContain("Skipped delta-Image 1:1 1K: --quality 1K: delta-Image takes no quality.\n");
    const many = await world.run([...MANY, "--dry-run"]);
    expect(many.stdout).toMatch(/^RATIO +QUALITY +CREDITS\n(?:(?:1:1|16:9) .*\n){4}$/);
    expect(many.stderr.split("\n").slice(0, 3)).toEqual([
      "8 of 12 combinations are skipped:",
      "  4 of z-image: no quality.",
      "  4 of delta-Image: no quality; ratios 1:1, 3:2, 2:3 only.",
    ]);
  });

  it("says on a terminal in four lines which cells are skipped, and how all are listed", async () => {
    const world = await commandWorld();
    const models = "gamma-image-2,z-image,delta-Image,vendor2/beta-v4,vendor2/beta-v4.5,beta/4.5-edit";
    const args = ["compare", "a fox", "-m", models, "-r", "1:1,21:9,9:21,4:5,2:3", "--no-color"];
    const { stderr } = await world.run([...args, "--dry-run"], TERMINAL);
    const lines = stderr.split("\n").filter((line) => /skipped|^ {2}\d/.test(line));
    expect(lines).toHaveLength(4);
    expect(stderr).toMatch(
      /^ {2}9 more of 3 other models\. To list all:\n *imggen compare .* --dry-run --json$/m,
    );
  });

  it("ends in a table with model, ratio, quality, cost, seconds, size and path", async () => {
    const world = await commandWorld();
    const { code, stdout } = await world.run(["compare", "a fox", "-m", "gamma-image-2", "-q", "1K"]);
    expect(code).toBe(0);
    const [headings = "", row = ""] = stdout.split("\n");
    expect(headings.split(/ {2,}/)).toEqual(words("MODEL RATIO QUALITY CREDITS SECONDS SIZE FILE"));
    const file = (await imagesIn(world.cwd))[0] ?? "";
    expect(file).toMatch(/^a-fox-gamma-image-2-1K-/);
    expect(row).toMatch(/^gamma-image-2 {2}- {6}1K {7}2 {8}\d+\.\d {6}64×48 {2}/);
    expect(row.endsWith(file)).toBe(true);
  });

  it("takes the same time for a cell, from its submit until it was completed, when it is run again, also where its image was deleted", async () => {
    const [submits, downloads]: [number[], number[]] = [[], []];
    const at = (times: number[], bytes: Buffer): Behaviour => {
      return (_request, socket) => {
        times.push(Date.now());
        socket.write(bytes);
      };
    };
    const world = await commandWorld({
      submit: at(submits, success({ taskId: "task-1" })),
      file: at(downloads, response(200, PICTURE)),
    });
    const once = ["compare", "a fox", "-m", "gamma-image-2", "-q", "1K"];
    const first = await world.json(once);
    const again = await world.json(once);
    await rm(String(first.document.cells?.[0]?.files?.[0]?.path));
    const savedAgain = await world.json(once);
    const { elapsedMs, submittedAt, completedAt } = first.document.cells?.[0] ?? {};
    const [from, to] = [submittedAt, completedAt].map((time) => Date.parse(String(time)));
    expect(Number(elapsedMs)).toBe(Number(to) - Number(from));
    expect(from).toBeLessThanOrEqual(submits[0] ?? 0);
    expect(to).toBeGreaterThanOrEqual(submits[0] ?? 0);
    expect(to).toBeLessThanOrEqual(downloads[0] ?? 0);
    expect(again.document.cells).toMatchObject([{ elapsedMs, skipped: true }]);
    expect(savedAgain.document.cells).toMatchObject([{ elapsedMs, completedAt }]);
    expect(world.server.submits()).toHaveLength(1);
  });

  it("reads the prompt from standard input for -, and never submits the dash", async () => {
    const world = await commandWorld();
    await world.run(["compare", "-", "-m", "z-image"], { input: "a fox\n" });
    expect(submitted(world)).toEqual([{ prompt: "a fox", model: "z-image" }]);
    expect((await world.run(["compare", "-", "-m", "z-image"], { input: "" })).code).toBe(2);
  });

  it("takes one model under two names for one", async () => {
    const world = await commandWorld();
    await world.json(["compare", "a fox", "-m", "alpha-2,vendor1/alpha-2"]);
    expect(submitted(world)).toEqual([{ prompt: "a fox", model: "vendor1/alpha-2" }]);
  });

  it("is priced before anything is sent, and held to its cap", async () => {
    const world = await commandWorld();
    const dry = await world.json([...COMPARE, "--dry-run"]);
    expect(dry).toMatchObject({ code: 0, document: { ok: true, dryRun: true, credits: 6 } });
    const capped = await world.json([...COMPARE, "--max-credits", "5"]);
    expect(capped).toMatchObject({ code: 2, document: { error: { type: "budget_exceeded" } } });
    expect(world.server.requests).toEqual([]);
    await world.json(COMPARE);
    const again = await world.json([...COMPARE, "--dry-run"]);
    expect(again.document).toMatchObject({ cells: [{ credits: 2 }, { credits: 4 }], credits: 0 });
    expect((await world.run([...COMPARE, "--dry-run"])).stderr).toContain(
      "2 rows, 2 already saved, 6 credits already charged, nothing to submit, nothing was sent\n",
    );
  });

  it("passes a ratio on that the document does not name, to a model of which it does not say what it takes", async () => {
    const world = await commandWorld();
    const flags = ["-m", "beta/5-lite-text-to-image,z-image", "-r", "7:5"];
    const { code, document } = await world.json(["compare", "a fox", ...flags]);
    expect(code).toBe(0);
    expect(document.skipped).toMatchObject([{ model: "z-image" }]);
    expect(submitted(world)).toMatchObject([{ model: "beta/5-lite-text-to-image", ratio: "7:5" }]);
  });

  it("passes anything on under --no-validate", async () => {
    const world = await commandWorld();
    await world.json(["compare", "a fox", "-m", "gamma-image-3", "-r", "99:1", "--no-validate"]);
    expect(submitted(world)).toMatchObject([{ model: "gamma-image-3", ratio: "99:1" }]);
  });

  it("says once why nothing is left to compare", async () => {
    const world = await commandWorld();
    const generator = ["--generator", "command:/nowhere/paint {promptFile} {seed} {output}"];
    const { code, stderr } = await world.run(["compare", "a fox", ...generator, "-f", "seed=1,2"]);
    expect([code, stderr]).toEqual([
      2,
      "error: Nothing to compare: The command cannot be started: /nowhere/paint: no such file or folder (ENOENT).\n  Nothing was sent.\n",
    ]);
  });

  it("shows the cell that failed beside those that came, and exits 10", async () => {
    const world = await commandWorld({
      submit: inTurn(
        (_request, socket) => void socket.write(failure("image_generation.error.generation_failed")),
        (_request, socket) => void socket.write(success({ taskId: "task-2" })),
      ),
    });
    const { code, document } = await world.json([...COMPARE, "--concurrency", "1"]);
    expect(code).toBe(10);
    expect(document.cells).toMatchObject([{ ok: false, charged: "no" }, { ok: true }]);
  });
});
