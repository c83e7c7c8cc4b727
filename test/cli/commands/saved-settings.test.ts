import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createClient } from "../../../src/client/index.ts";
import { agent, FOX, mcpFolders } from "../../mcp/mcp-world.ts";
import { comfyDouble, workflow } from "../../support/comfyui.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { generatorWorld } from "../../support/generator-world.ts";
import { withConfig } from "../../support/settings-file.ts";

const BASIC = { ratio: "21:9", quality: "4K" };
/** A model that takes neither. */
const MODEL = ["-m", "z-image"];
const RATIO = expect.stringMatching(/^ratio 21:9 from config\.json is left out\. z-image takes only /);
const QUALITY = expect.stringMatching(
  /^quality 4K from config\.json is left out\. z-image takes no quality\.$/,
);

const warningsIn = (stderr: string) => stderr.split("\n").filter((line) => line.includes("is left out"));

/** The check of the settings by doctor. */
async function checkedConfig(
  run: (args: string[], options?: object) => Promise<{ stdout: string }>,
  flags: string[] = [],
) {
  const { stdout } = await run(["doctor", "--json", ...flags]);
  const checks: { name: string; status: string; message: string }[] = JSON.parse(stdout).checks;
  return checks.find(({ name }) => name === "config");
}

describe("a ratio and quality from config.json that the model does not support", () => {
  it("are left out, with a line each on standard error and in the warnings", async () => {
    const world = await commandWorld();
    await withConfig(world, BASIC);
    const { code, document } = await world.json(["generate", "a fox", ...MODEL]);
    expect([code, document.request]).toEqual([0, { prompt: "a fox", model: "z-image" }]);
    expect(document.warnings).toEqual(expect.arrayContaining([RATIO, QUALITY]));
    const { stderr } = await world.run(["generate", "a fox", ...MODEL]);
    expect(warningsIn(stderr)).toHaveLength(2);
  });

  it("are left out of a batch's rows, with one line for all, and of a comparison", async () => {
    const world = await commandWorld();
    await withConfig(world, BASIC);
    await writeFile(path.join(world.cwd, "rows.csv"), "prompt,model\na fox,z-image\nan owl,z-image\n");
    const batch = await world.run(["batch", "rows.csv", "--yes", "-o", "made"]);
    expect([batch.code, warningsIn(batch.stderr).length]).toEqual([0, 2]);
    const compare = await world.run([
      "compare",
      "a fox",
      "-m",
      "z-image,gamma-image-2",
      "--yes",
      "-o",
      "compared",
    ]);
    expect([compare.code, warningsIn(compare.stderr).length]).toEqual([0, 2]);
    const bodies = world.server.submits().map(({ body }) => JSON.parse(body));
    expect(bodies).toHaveLength(4);
    for (const { model, ratio, quality } of bodies)
      expect([model, ratio, quality]).toEqual(
        model === "z-image" ? [model, undefined, undefined] : [model, "21:9", "4K"],
      );
  });

  it("are refused by a flag, and by a row of a manifest", async () => {
    const world = await commandWorld();
    const flag = await world.json(["generate", "a fox", ...MODEL, "-r", "21:9"]);
    expect([flag.code, flag.document.error?.message]).toEqual([2, expect.stringContaining("--ratio 21:9")]);
    await writeFile(path.join(world.cwd, "rows.csv"), "prompt,quality\na fox,4K\n");
    const row = await world.json(["batch", "rows.csv", ...MODEL, "--yes"]);
    expect([row.code, row.document.error?.message]).toEqual([
      2,
      expect.stringContaining("Quality 4K: z-image takes no quality"),
    ]);
    expect(world.server.submits()).toEqual([]);
  });

  it("are left out of what an agent generates", async () => {
    const folders = await mcpFolders();
    await withConfig(folders, { ratio: "8:1", quality: "2K" });
    const { call } = await agent(folders);
    const { prompt, model } = FOX;
    const { document } = await call("generate_image", { prompt, model });
    expect(document).toMatchObject({
      ok: true,
      request: { prompt, model, quality: "2K" },
      warnings: [
        expect.stringMatching(/^ratio 8:1 from config\.json is left out\. gamma-image-2 takes only /),
      ],
    });
  });

  it("are a warning of doctor's", async () => {
    const world = await commandWorld();
    await withConfig(world, { ...BASIC, model: "z-image" });
    const found = await checkedConfig(world.run);
    expect(found).toMatchObject({
      status: "warning",
      message: expect.stringContaining("ratio 21:9 from config.json"),
    });
  });
});

describe("a seed, negative prompt and fields from config.json", () => {
  it("are left out at the service, which has none of them", async () => {
    const world = await commandWorld();
    await withConfig(world, { seed: 7, negative: "rain", field: "steps=20" });
    const { code, document } = await world.json(["generate", "a fox", "--dry-run"]);
    expect([code, document.request]).toEqual([0, { prompt: "a fox", model: "vendor1/alpha-2" }]);
    expect(document.warnings).toEqual(
      ["seed 7", "negative rain", "steps 20"].map(
        (each) => `${each} from config.json is left out. The service does not support it.`,
      ),
    );
    expect((await world.json(["generate", "a fox", "--seed", "7"])).code).toBe(2);
  });

  it("are left out one by one if a command does not support them", async () => {
    const { json, generator, ...world } = await generatorWorld();
    const spec = "command:paint {promptFile} {output} {seed} {steps}";
    await withConfig(world, { generator: spec, seed: "7", negative: "rain", field: "steps=20 cfg=7" });
    const dry = (...flags: string[]) =>
      json(["generate", "a fox", "--dry-run", ...flags], { env: { IMGGEN_GENERATOR: undefined } });
    const { code, document } = await dry();
    expect([code, document.request]).toMatchObject([0, { seed: 7, fields: { steps: 20 } }]);
    expect(document.request).not.toHaveProperty("negative");
    expect(document.warnings).toEqual([
      expect.stringMatching(/^cfg 7 from config\.json is left out\. The command does not support/),
      expect.stringMatching(/^negative rain from config\.json is left out\. The command does not support/),
    ]);
    const refused = await dry("--negative", "fog");
    expect([refused.code, refused.document.error?.message]).toEqual([2, expect.stringContaining("negative")]);
    expect(
      await checkedConfig((args) => world.run(args, { env: { IMGGEN_GENERATOR: undefined } })),
    ).toMatchObject({
      status: "warning",
      message: expect.stringContaining("cfg 7 from config.json is left out."),
    });
    expect(generator.requests).toEqual([]);
  });

  it("are left out together where a model takes neither, in the library too", async () => {
    const { home, generator } = await generatorWorld();
    await withConfig({ home }, { generator: generator.origin, seed: 7, negative: "rain" });
    const client = createClient({ home });
    const result = await client.generate({
      prompt: "a fox",
      model: "gpt-image-2",
      validate: false,
      output: `${home}/x/`,
    });
    await client.close();
    expect(result.warnings.map((each) => each.slice(0, 12))).toEqual(["seed 7 from ", "negative rai"]);
    const [body] = generator.submits().map((each) => JSON.parse(each.body));
    expect(body).not.toHaveProperty("seed");
  });

  it("of 64 bits keep every digit of a number in JSON", async () => {
    const { json, home, generator } = await generatorWorld();
    await withConfig({ home }, '{ "seed": 18446744073709551615 }');
    expect((await json(["generate", "a fox"])).code).toBe(0);
    expect(generator.submits()[0]?.body).toContain('"seed":18446744073709551615');
  });
});

describe("a setting of config.json that makes a request impossible", () => {
  it("is named with its origin by generate and by doctor: a model that the generator does not have", async () => {
    const { json, run, home, generator } = await generatorWorld();
    await withConfig({ home }, { generator: generator.origin, generatorModel: "sd3" });
    const env = { IMGGEN_GENERATOR: undefined };
    const { code, document } = await json(["generate", "a fox"], { env });
    expect([code, document.error?.message]).toEqual([
      2,
      expect.stringMatching(/^generatorModel sd3 from config\.json: the generator does not have this model/i),
    ]);
    const { stdout } = await run(["doctor", "--json"], { env });
    expect(stdout).toContain("does not list the model of generatorModel sd3 from config.json");
    expect(generator.submits()).toEqual([]);
  });

  it("is named with its origin: a model that no request can name", async () => {
    const { json, run, home, generator } = await generatorWorld();
    await withConfig({ home }, { generator: `replicate:${generator.origin}`, generatorModel: "sd3" });
    const env = { IMGGEN_GENERATOR: undefined };
    const { code, document } = await json(["generate", "a fox", "--dry-run"], { env });
    expect([code, document.error?.message]).toEqual([
      2,
      expect.stringMatching(/^With generatorModel sd3 from config\.json: Replicate needs a model name/),
    ]);
    expect(await checkedConfig((args) => run(args, { env }))).toMatchObject({
      status: "failed",
      message: expect.stringContaining("generatorModel sd3 from config.json"),
    });
  });

  it("is named with its origin: a workflow without a place for what is requested, or that cannot be read", async () => {
    const double = await comfyDouble();
    const world = await commandWorld({}, { IMGGEN_GENERATOR: undefined, ...NO_ACCOUNT });
    const file = path.join(world.cwd, "portrait.json");
    await writeFile(file, JSON.stringify(workflow()));
    await withConfig(world, { generator: `comfyui:${double.url}`, workflow: file });
    const image = ["--image", "https://example.com/fox.png"];
    const { code, document } = await world.json(["generate", "a fox", "--dry-run", ...image]);
    expect([code, document.error?.message]).toEqual([
      2,
      expect.stringMatching(/^With workflow portrait\.json from config\.json: /),
    ]);
    await writeFile(file, "{}");
    const broken = await world.json(["generate", "a fox", "--dry-run"]);
    expect([broken.code, broken.document.error?.message]).toEqual([
      2,
      expect.stringContaining("workflow portrait.json from config.json"),
    ]);
    expect(await checkedConfig(world.run)).toMatchObject({
      status: "failed",
      message: expect.stringContaining(`workflow portrait.json from config.json: ${file} `),
    });
  });

  it("is named with its origin: a workflow for a generator that takes none, unless nothing is requested of it", async () => {
    const { json, run, home, generator } = await generatorWorld();
    const file = path.join(home, "portrait.json");
    await writeFile(file, JSON.stringify(workflow()));
    await withConfig({ home }, { generator: generator.origin, workflow: file });
    const env = { IMGGEN_GENERATOR: undefined };
    const REFUSED = "workflow portrait.json from config.json is for a ComfyUI server.";
    const { code, document } = await json(["generate", "a fox"], { env });
    expect([code, document.error]).toEqual([
      2,
      expect.objectContaining({
        message: REFUSED,
        hint: expect.stringContaining("imggen config unset workflow"),
      }),
    ]);
    expect(await checkedConfig((args) => run(args, { env }))).toMatchObject({
      status: "failed",
      message: REFUSED,
    });
    expect(generator.submits()).toEqual([]);
    expect((await json(["generate", "a fox", "--sandbox"], { env })).code).toBe(0);
    expect((await json(["models"], { env })).code).toBe(0);
  });

  it("is named with its origin: a form of sizes that does not exist", async () => {
    const { json, run, home, generator } = await generatorWorld();
    await withConfig({ home }, { generator: generator.origin, generatorSize: "big" });
    const env = { IMGGEN_GENERATOR: undefined };
    const { code, document } = await json(["generate", "a fox"], { env });
    expect([code, document.error?.message]).toEqual([
      2,
      expect.stringMatching(/^generatorSize from config\.json "big" is none of /),
    ]);
    expect(await checkedConfig((args) => run(args, { env }))).toMatchObject({
      status: "failed",
      message: expect.stringMatching(/config\.json: generatorSize "big" is none of /),
    });
    expect(generator.submits()).toEqual([]);
  });

  it("stops no request to the service, which has no use for it", async () => {
    const world = await commandWorld();
    await withConfig(world, { workflow: "/nowhere/portrait.json", generatorSize: "big" });
    expect((await world.json(["generate", "a fox"])).code).toBe(0);
  });
});

it.each([
  ["timeout", 90, "90"],
  ["confirmAbove", 50, "50"],
  ["sidecar", true, "true"],
  ["preview", false, "false"],
  ["generatorSide", 512, "512"],
  ["seed", 7, "7"],
  ["output", 2026, "2026"],
  ["model", 5, "5"],
])("%s may be %j without quotes in config.json", async (name, value, text) => {
  const world = await commandWorld();
  await withConfig(world, { [name]: value });
  const { code, document } = await world.json(["config", "get", name]);
  expect([code, document]).toMatchObject([0, { name, value: text, source: "config" }]);
});
