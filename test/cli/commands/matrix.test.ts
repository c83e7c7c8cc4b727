import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type CommandWorld, commandWorld, submitted, TEST_KEY } from "../../support/command-world.ts";
import { words } from "../../support/words.ts";

const NEW = {
  id: "new/model-9",
  kinds: ["text-to-image"],
  ratios: ["5:7", "auto"],
  defaultRatio: "auto",
  qualities: ["2K"],
  credits: { "2K": 30 },
  maxImages: 3,
  promptLimit: 20,
};

const DEARER = { id: "gamma-image-2", credits: { "1K": 7 } };

/** A world whose commands have a matrix file, by the variable. */
async function matrixWorld(entries: readonly object[] = [NEW, DEARER]): Promise<CommandWorld> {
  const world = await commandWorld({}, { IMGGEN_MATRIX: "models.json" });
  await writeFile(path.join(world.cwd, "models.json"), JSON.stringify(entries));
  return world;
}

const dryRun = (...flags: string[]) => ["generate", "a fox", "--dry-run", ...flags];

describe("with a matrix file,", () => {
  it("models shows added models and changed ones, and what it prints is a matrix file that gives the same", async () => {
    const world = await matrixWorld();
    const { stdout } = await world.run(["models", "--json"]);
    const models: { id: string }[] = JSON.parse(stdout);
    expect(models.at(-1)).toMatchObject(NEW);
    expect(models.find(({ id }) => id === "gamma-image-2")).toMatchObject({ credits: { "1K": 7 } });
    await writeFile(path.join(world.cwd, "models.json"), stdout);
    expect((await world.run(["models", "--json"])).stdout).toBe(stdout);
    const { document } = await world.json(["models", "--ratio", "5:7"]);
    expect(document).toEqual([expect.objectContaining({ id: NEW.id })]);
    expect((await world.run(["models", "model-9"])).stdout).toMatch(/^new\/model-9\n/);
  });

  it("a request for an added model is checked against it, priced by it, and sent", async () => {
    const world = await matrixWorld();
    const { code, document } = await world.json(words('generate "a fox" -m model-9 -r 5:7 -q 2k'));
    expect({ code, credits: document.credits }).toEqual({ code: 0, credits: 30 });
    expect(submitted(world)).toEqual([{ prompt: "a fox", model: NEW.id, ratio: "5:7", quality: "2K" }]);
  });

  it.each([
    [["-m", "model-9", "-r", "1:1"], "--ratio 1:1: new/model-9 takes only 5:7, auto."],
    [["-m", "model-9", "-q", "4K"], "--quality 4K: new/model-9 takes only 2K."],
    [["-m", "model-9", "-n", "4"], "--max-images 4: new/model-9 makes at most 3 images."],
    [["-m", "new/model-8"], /the nearest is new\/model-9\.$/],
    [["-m", "model-9", "-q", "2K", "--max-credits", "29"], /costs 30 credits/],
    [["-m", "gamma-image-2", "-q", "1K", "--max-credits", "6"], /costs 7 credits/],
  ])("%j is refused by its rules, and nothing is sent", async (flags, message) => {
    const world = await matrixWorld();
    const { code, document } = await world.json(["generate", "a fox", ...flags]);
    expect(code).toBe(2);
    expect(document.error?.message).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
    expect(world.server.submits()).toEqual([]);
  });

  it("rows of a manifest are checked and priced by it, and an undocumented cost counts as its highest", async () => {
    const world = await matrixWorld();
    const rows = [
      { prompt: "a fox", model: "model-9", quality: "2K" },
      { prompt: "an owl", model: "z-image" },
    ];
    await writeFile(path.join(world.cwd, "rows.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
    await world.run(["config", "set", "confirmAbove", "50"]);
    const { stderr, code } = await world.run(["batch", "rows.jsonl", "--output", "pictures", "--yes"], {
      env: { IMGGEN_MATRIX: "models.json" },
    });
    expect(code).toBe(0);
    expect(stderr).toContain(
      "For the confirmation, each row of unknown cost counts as 30 credits, so the total is 60 credits.",
    );
    expect(world.server.submits()).toHaveLength(2);
  });

  it("the sandbox has the added models, free of charge", async () => {
    const world = await matrixWorld();
    const { code, document } = await world.json(words('generate "a fox" -m model-9 -q 2K --sandbox'));
    expect({ code, credits: document.credits }).toEqual({ code: 0, credits: 0 });
  });
});

describe("the setting matrix", () => {
  const unset = { env: { IMGGEN_MATRIX: undefined } };

  it("is stored with its whole path, and applies in every folder", async () => {
    const world = await matrixWorld();
    const { code, document } = await world.json(["config", "set", "matrix", "models.json"], unset);
    expect({ code, value: document.value }).toEqual({ code: 0, value: path.join(world.cwd, "models.json") });
    const elsewhere = { ...unset, cwd: world.home };
    expect((await world.json(dryRun("-m", "model-9", "-q", "2K"), elsewhere)).document.credits).toBe(30);
    expect((await world.run(["config", "set", "model", "model-9"], elsewhere)).code).toBe(0);
    expect((await world.json(dryRun("-q", "2K"), elsewhere)).document.credits).toBe(30);
  });

  it("is checked before it is stored", async () => {
    const world = await matrixWorld([{ id: "a", notes: 1 }]);
    const { code, document } = await world.json(["config", "set", "matrix", "models.json"], unset);
    expect({ code, error: document.error }).toMatchObject({
      code: 2,
      error: {
        message: `The model matrix ${path.join(world.cwd, "models.json")} cannot be used: models[0].notes must be a list, not 1.`,
        hint: "Nothing was stored. File format: imggen help matrix",
      },
    });
    expect((await world.json(["config", "get", "matrix"], unset)).document.value).toBeNull();
  });

  it("of a profile is removed from that profile", async () => {
    const world = await matrixWorld();
    await world.run(["login", "--profile", "work", "--no-verify"], { ...unset, input: `${TEST_KEY}\n` });
    const ofWork = (...args: string[]) => world.json([...args, "--profile", "work"], unset);
    expect((await ofWork("config", "set", "matrix", "models.json")).code).toBe(0);
    expect((await world.json(dryRun("-m", "model-9"), unset)).code).toBe(2);
    await writeFile(path.join(world.cwd, "models.json"), "[1]");
    const { document } = await ofWork(...dryRun("-m", "model-9"));
    expect(document.error?.hint).toMatch(/: imggen config unset matrix --profile work$/);
  });

  it("can be removed once its file is wrong, and commands that need no models still work", async () => {
    const world = await matrixWorld();
    await world.run(["generate", "a fox", "-m", "model-9", "-q", "2K", "--no-wait"]);
    await world.run(["config", "set", "matrix", "models.json"], unset);
    await writeFile(path.join(world.cwd, "models.json"), "[1]");
    const refused = await world.json(dryRun(), unset);
    expect(refused).toMatchObject({
      code: 2,
      document: {
        error: {
          type: "usage",
          hint: "Nothing was sent. File format: imggen help matrix\nTo use the built-in models alone: imggen config unset matrix",
        },
      },
    });
    expect((await world.json(["resume"], unset)).code).toBe(0);
    expect((await world.json(["history"], unset)).document).toHaveLength(1);
    expect((await world.run(["config", "unset", "matrix"], unset)).code).toBe(0);
    expect((await world.json(dryRun(), unset)).code).toBe(0);
  });
});
