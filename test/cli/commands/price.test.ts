import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { generatorWorld } from "../../support/generator-world.ts";

/** A world whose paid generator is stored, so that settings belong to it. */
async function paidWorld() {
  const world = await generatorWorld();
  const { origin } = world.generator;
  const env = { IMGGEN_GENERATOR: undefined };
  const set = (...args: string[]) => world.run(["config", "set", ...args], { env });
  await set("generator", origin);
  await set("generatorPaid", "true");
  return { ...world, set, json: (args: string[]) => world.json(args, { env }) };
}

const FOX = ["generate", "a fox", "--max-credits", "9"];

describe("the price of a paid generator's image", () => {
  it("is named in one line if a cap needs it, and nothing is sent", async () => {
    const { json, prompts } = await paidWorld();
    const { code, document } = await json(FOX);
    expect([code, document.error?.type, prompts()]).toEqual([2, "budget_exceeded", []]);
    expect(document.error?.hint).toContain(
      "--generator-price 4.\nTo set the price, in credits per image, for all requests to the configured generator: imggen config set price 4",
    );
  });

  it("is counted for each image by a cap, by the flag or the setting, the flag's first", async () => {
    const { json, set, prompts } = await paidWorld();
    expect((await set("price", "4")).code).toBe(0);
    expect((await json([...FOX, "-n", "3"])).code).toBe(2);
    expect(prompts()).toEqual([]);
    expect((await json([...FOX, "-n", "2"])).document).toMatchObject({ credits: 8, charged: "yes" });
    expect((await json(["generate", "an owl", "--dry-run", "--generator-price", "7"])).document.credits).toBe(
      7,
    );
  });

  it("is counted by dailyCredits, and by confirmAbove of a batch", async () => {
    const { json, set } = await paidWorld();
    for (const [name, value] of [
      ["price", "4"],
      ["dailyCredits", "6"],
      ["confirmAbove", "5"],
    ] as const)
      await set(name, value);
    expect((await json(["generate", "a fox"])).code).toBe(0);
    expect((await json(["generate", "an owl"])).document.error).toMatchObject({ type: "budget_exceeded" });
    await set("dailyCredits", "100");
    const { document } = await json(["compare", "a hen", "-m", "flux", "-r", "1:1,3:2", "-o", "out"]);
    expect(document.error?.message).toContain("8 credits");
  });

  it("goes behind one of the matrix file, and belongs to the stored generator alone", async () => {
    const { json, set, run, cwd, generator } = await paidWorld();
    await set("price", "4");
    await writeFile(path.join(cwd, "m.json"), JSON.stringify([{ id: "flux", credits: { default: 2 } }]));
    await set("matrix", "m.json");
    expect((await json(["generate", "a fox", "--dry-run", "-m", "flux"])).document.credits).toBe(2);
    await run(["config", "unset", "matrix"]);
    const other = ["--generator", `openai:${generator.origin}/other`, "--generator-paid", "-m", "flux"];
    expect((await json(["generate", "a fox", "--dry-run", ...other])).document.credits).toBeNull();
    const free = ["--generator-free"];
    expect((await json(["generate", "a fox", "--dry-run", ...free])).document.credits).toBe(0);
  });

  it("is stored with a warning if the config has no generator that it could apply to", async () => {
    const warning = "price has no effect without a stored generator.";
    const { set, run } = await paidWorld();
    expect((await set("price", "4")).stderr).not.toContain("applies to the generator");
    await run(["config", "unset", "generator"]);
    expect(await set("price", "4")).toMatchObject({ code: 0, stderr: expect.stringContaining(warning) });
    expect((await set("seed", "7")).stderr).not.toContain("applies to the generator");
  });

  it("must be a whole number, and is no price of the service's models", async () => {
    const { set, run, server } = { ...(await paidWorld()), server: null };
    expect([(await set("price", "4.5")).code, server]).toEqual([2, null]);
    const stray = await run(["generate", "a fox", "--generator-price", "4"], {
      env: { IMGGEN_GENERATOR: undefined, IMGGEN_BASE_URL: "http://127.0.0.1:9/api" },
    });
    expect([stray.code, stray.stderr]).toEqual([2, expect.stringContaining("is for a generator")]);
  });
});
