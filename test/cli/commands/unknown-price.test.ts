import { existsSync } from "node:fs";
import { chmod, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type CommandWorld, commandWorld, submitted } from "../../support/command-world.ts";
import { generatorWorld } from "../../support/generator-world.ts";
import { PICTURE } from "../../support/images.ts";
import type { RunOptions } from "../../support/in-process.ts";
import { liveService } from "../../support/live-server.ts";

const QUESTION = "The price of vendor1/alpha-2 is not documented. Submit? [y/N] ";
const FOX = ["generate", "a fox"];

/** A person at a terminal that shows no status line, and the answer. */
const person = (typed: string, env: RunOptions["env"] = {}): Partial<RunOptions> => ({
  terminal: true,
  typed,
  env: { TERM: "dumb", ...env },
});

const folderOf = ({ home }: Pick<CommandWorld, "home">) => path.join(home, "state", "agreed-prices");
const tasksIn = async ({ listing }: CommandWorld) =>
  (await listing()).filter((name) => /\.(jsonl|png)$/.test(name));

describe("a first paid image of unknown price", () => {
  it.each([
    ["Enter", "\n"],
    ["n", "n\n"],
    ["any other word", "yess\n"],
    ["the end of the input", ""],
  ])("is not submitted after %s: exit 2, nothing sent or stored", async (_what, typed) => {
    const world = await commandWorld();
    const { code, stderr } = await world.run(FOX, person(typed));
    expect([code, stderr]).toEqual([2, expect.stringContaining(QUESTION)]);
    expect(stderr).toContain("The cost was not confirmed.\n");
    expect(stderr).toContain("Nothing was sent.");
    expect([submitted(world), await tasksIn(world), existsSync(folderOf(world))]).toEqual([[], [], false]);
  });

  it("is asked about once for an address and a model, in generate and rerun alike", async () => {
    const world = await commandWorld();
    const first = await world.run([...FOX, "-o", "fox.png"], person("y\n"));
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining(QUESTION)]);
    for (const args of [
      ["generate", "an owl"],
      ["rerun", "fox.png"],
      ["rerun", "fox.png", "-r", "1:1"],
    ]) {
      const { code, stderr } = await world.run(args, person(""));
      expect([code, stderr]).toEqual([0, expect.not.stringContaining("Submit?")]);
    }
    const other = await liveService(PICTURE);
    const elsewhere = await world.run(["rerun", "fox.png", "-m", "beta-v4"], person("n\n"));
    expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining("Submit? [y/N]")]);
    const there = await world.run(FOX, person("n\n", { IMGGEN_BASE_URL: other.baseUrl }));
    expect([there.code, there.stderr, submitted(world).length]).toEqual([
      2,
      expect.stringContaining(QUESTION),
      4,
    ]);
  });

  it("is agreed to for each model by itself: a second one does not take the place of the first", async () => {
    const world = await commandWorld();
    for (const model of ["vendor1/alpha-2", "beta-v4"]) await world.run([...FOX, "-m", model], person("y\n"));
    for (const model of ["vendor1/alpha-2", "beta-v4"]) {
      const { code, stderr } = await world.run([...FOX, "--again", "-m", model], person(""));
      expect([code, stderr]).toEqual([0, expect.not.stringContaining("Submit?")]);
    }
  });

  it("is no question where it is free, of a model that is not known too", async () => {
    const { run } = await commandWorld();
    const { stderr } = await run([...FOX, "--sandbox", "--no-validate", "-m", "nosuch"], person(""));
    expect(stderr).not.toContain("Submit?");
  });

  it.each<[string, string[], Partial<RunOptions>]>([
    ["--json", ["--json"], person("")],
    ["--quiet", ["--quiet"], person("")],
    ["--progress json", ["--progress", "json"], person("")],
    ["--yes", ["--yes"], person("")],
    ["--dry-run", ["--dry-run"], person("")],
    ["CI", [], person("", { CI: "true" })],
    ["input from a pipe", [], { terminal: true, input: "", env: { TERM: "dumb" } }],
    ["standard error in a file", [], { terminal: false }],
  ])("is submitted without a question with %s, which stores nothing", async (_what, flags, options) => {
    const world = await commandWorld();
    const { code, stderr } = await world.run([...FOX, ...flags], options);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("Submit?")]);
    expect(submitted(world)).toHaveLength(flags.includes("--dry-run") ? 0 : 1);
    expect(existsSync(folderOf(world))).toBe(false);
  });

  it("is no question of a known price, of the sandbox, or of a batch below confirmAbove", async () => {
    const world = await commandWorld();
    await writeFile(path.join(world.cwd, "prompts.txt"), "a fox\n");
    for (const args of [
      [...FOX, "-m", "gamma-image-2", "-q", "1K"],
      [...FOX, "--sandbox"],
      ["batch", "prompts.txt", "-o", "out"],
    ]) {
      const { code, stderr } = await world.run(args, person(""));
      expect([code, stderr]).toEqual([0, expect.not.stringContaining("[y/N]")]);
    }
  });

  it("is not asked about for an earlier task that is charged: it is continued", async () => {
    const world = await commandWorld();
    await world.run([...FOX, "--no-wait", "--yes"]);
    const { code, stderr } = await world.run(FOX, person(""));
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("Submit?")]);
    expect(submitted(world)).toHaveLength(1);
  });

  it("of a generator is asked about by its model, or its name without one, and not where it is free or has a price", async () => {
    const { run, generator, prompts } = await generatorWorld();
    const ask = async (...flags: string[]) => (await run([...FOX, ...flags], person(""))).stderr;
    expect(await ask("--generator-paid")).toContain("The price of flux is not documented. Submit? [y/N] ");
    const automatic = ["--generator", `sdapi:${generator.origin}`, "--generator-paid"];
    expect(await ask(...automatic)).toContain(`The price of sdapi:${generator.origin} is not documented.`);
    expect(prompts()).toEqual([]);
    expect(await ask()).not.toContain("Submit?");
    expect(await ask("--generator-paid", "--generator-price", "4")).not.toContain("Submit?");
    expect(prompts()).toHaveLength(2);
  });

  it("of a model with control characters is asked about without them", async () => {
    const world = await commandWorld();
    const hostile = ["--no-validate", "-m", "alpha\u001b[2J\u202e"];
    const { code, stderr } = await world.run([...FOX, ...hostile], person("n\n"));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/The price of alpha\S* is not documented/)]);
    expect(stderr).not.toMatch(/[\u001b\u202e]/);
  });

  it("is asked about again if what was stored is damaged, or could not be stored", async () => {
    const world = await commandWorld();
    const asked = async () => {
      const { code, stderr } = await world.run(["generate", "a fox", "--again"], person("y\n"));
      expect(code).toBe(0);
      return stderr.includes(QUESTION);
    };
    expect([await asked(), await asked()]).toEqual([true, false]);
    const [name = ""] = await readdir(folderOf(world));
    await writeFile(path.join(folderOf(world), name), '{"address":');
    expect([await asked(), await asked()]).toEqual([true, false]);
    await writeFile(path.join(folderOf(world), name), '{"address":"x","model":"y"}');
    expect(await asked()).toBe(true);
    const blocked = await commandWorld();
    await blocked.run(["config", "set", "ratio", "1:1"]);
    await blocked.run([...FOX, "--yes"]);
    await writeFile(folderOf(blocked), "");
    await chmod(folderOf(blocked), 0o400);
    const { code, stderr } = await blocked.run(["generate", "an owl"], person("y\n"));
    expect([code, stderr]).toEqual([0, expect.stringContaining(QUESTION)]);
  });
});
