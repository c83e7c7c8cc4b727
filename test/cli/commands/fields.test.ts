import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";
import { type GeneratorWorld, generatorWorld } from "../../support/generator-world.ts";
import { words } from "../../support/words.ts";

/** The bodies that a generator was sent, in the order of their seeds. */
const bodiesOf = (generator: { submits(): { body: string }[] }): Record<string, unknown>[] =>
  generator
    .submits()
    .map(({ body }) => JSON.parse(body))
    .sort((a, b) => a.seed - b.seed);

/** The seeds of all requests, digit by digit. */
const seedTexts = (generator: { submits(): { body: string }[] }) =>
  generator.submits().map(({ body }) => /"seed":(\d+)[,}]/.exec(body)?.[1]);

/** Whether a request with these flags is answered by an earlier one. */
const reuses = async ({ json }: GeneratorWorld, ...flags: string[]) =>
  String((await json(["generate", "a fox", "--reuse", ...flags])).document.reused) === "true";

const FIELDS = ["--seed", "7", "--negative", "rain, snow", "-f", "steps=20"];

describe("--seed, --negative and --field", () => {
  it("are sent in the fields that the generator has for them, and are in history and the sidecar", async () => {
    const { json, run, generator } = await generatorWorld();
    const { code, document } = await json(["generate", "a fox", ...FIELDS, "--sidecar"]);
    expect(code).toBe(0);
    expect(bodiesOf(generator)).toMatchObject([{ seed: 7, negative_prompt: "rain, snow", steps: 20 }]);
    const request = { seed: 7, negative: "rain, snow", fields: { steps: 20 } };
    expect(document).toMatchObject({ request, files: [{ seed: 7 }] });
    const image = String(document.files?.[0]?.path);
    expect(JSON.parse(await readFile(`${image}.json`, "utf8"))).toMatchObject({ request, seed: 7 });
    expect((await json(["history"])).document).toMatchObject([{ request, files: [{ seed: 7 }] }]);
    expect((await json(["show", image])).document).toMatchObject({ request });
    await run(["gallery"]);
    const page = await readFile(path.join(path.dirname(image), "gallery.html"), "utf8");
    expect(page).toContain('"settings":{"seed":"7","negative":"rain, snow","steps":"20"}');
    expect(page).toContain(`imggen rerun ${document.taskId} --generator openai:${generator.origin}/v1`);
  });

  it("give each of several images the next seed, which its file names", async () => {
    const { json, generator } = await generatorWorld();
    const { document } = await json(["generate", "a fox", "-n", "3", "--seed", "7"]);
    expect(bodiesOf(generator).map(({ seed }) => seed)).toEqual([7, 8, 9]);
    expect(document.files).toMatchObject([{ seed: 7 }, { seed: 8 }, { seed: 9 }]);
  });

  it("take a seed of 64 bits, which is sent digit by digit and is all digits in JSON", async () => {
    const { json, generator } = await generatorWorld();
    const seeds = ["18446744073709551614", "18446744073709551615"];
    const generate = ["generate", "a fox", "-n", "2", "--seed", "18446744073709551614", "--sidecar"];
    const { code, document } = await json(generate);
    expect(code).toBe(0);
    expect(seedTexts(generator).sort()).toEqual(seeds);
    const files = seeds.map((seed) => ({ seed }));
    expect(document).toMatchObject({ request: { seed: seeds[0] }, files });
    const image = String(document.files?.[1]?.path);
    expect(JSON.parse(await readFile(`${image}.json`, "utf8"))).toMatchObject({ seed: seeds[1] });
    expect((await json(["history"])).document).toMatchObject([{ files }]);
    expect((await json(["show", image])).document).toMatchObject({ request: { seed: seeds[0] } });
    expect((await json(["rerun", String(document.taskId), "-n", "1"])).code).toBe(0);
    expect(seedTexts(generator).at(-1)).toBe(seeds[0]);
  });

  it("have seeds that are numbers in JSON up to 2^53 - 1, and text beyond", async () => {
    const { json } = await generatorWorld();
    const { document } = await json(["generate", "a fox", "-n", "3", "--seed", "9007199254740990"]);
    const seeds = [9_007_199_254_740_990, 9_007_199_254_740_991, "9007199254740992"];
    expect(document.files).toMatchObject(seeds.map((seed) => ({ seed })));
  });

  it.each([
    [
      "18446744073709551616",
      "2",
      /^--seed "18446744073709551616" is above 18446744073709551615, the largest seed of any generator\.$/,
    ],
    ["-1", "1", /^--seed "-1": at least 0\.$/],
    ["18446744073709551615", "2", /^--seed is too large: each further image adds 1/],
  ])("refuse the seed %s for %s images, and say what is wrong", async (seed, count, message) => {
    const { json, generator } = await generatorWorld();
    const error = { message: expect.stringMatching(message) };
    const args = ["generate", "a fox", "-n", count, `--seed=${seed}`];
    expect(await json(args)).toMatchObject({ code: 2, document: { error } });
    expect(generator.submits()).toEqual([]);
  });

  it("take a long seed from the settings, from --field and from a batch's rows", async () => {
    const { json, run, generator, cwd } = await generatorWorld();
    await run(["config", "set", "seed", "18446744073709551615"]);
    expect((await json(["generate", "a fox"])).code).toBe(0);
    expect((await json(["generate", "a fox", "-f", "seed=18446744073709551613"])).code).toBe(0);
    await writeFile(path.join(cwd, "rows.csv"), "prompt,seed\na fox,18446744073709551612\n");
    await writeFile(path.join(cwd, "rows.jsonl"), '{"prompt":"a fox","seed":"18446744073709551611"}\n');
    for (const manifest of ["rows.csv", "rows.jsonl"])
      expect((await run(["batch", manifest, "-o", "made"])).code).toBe(0);
    expect(seedTexts(generator)).toEqual([5, 3, 2, 1].map((last) => `1844674407370955161${last}`));
  });

  it("are in what --dry-run shows, and nothing is sent", async () => {
    const { json, generator } = await generatorWorld();
    const { document } = await json(["generate", "a fox", ...FIELDS, "--dry-run"]);
    expect(document).toMatchObject({
      request: { seed: 7 },
      sent: { body: { seed: 7, negative_prompt: "rain, snow", steps: 20 } },
    });
    expect(generator.requests).toEqual([]);
  });

  it("are refused for a model of OpenAI's at any other server", async () => {
    const { json, generator } = await generatorWorld();
    const flags = ["-m", "openai/gpt-image-2", "--no-validate", "--seed", "7"];
    const message = "openai/gpt-image-2 does not support a seed or a negative prompt.";
    expect(await json(["generate", "a fox", ...flags])).toMatchObject({
      code: 2,
      document: { error: { message } },
    });
    expect(generator.submits()).toEqual([]);
  });

  it.each([
    ["--seed", "7", "seed"],
    ["--negative", "rain", "negative"],
  ])("%s needs its placeholder in a command", async (flag, value, name) => {
    const { json } = await commandWorld();
    const generate = (line: string) =>
      json(["generate", "a fox", "--dry-run", flag, value, "--generator", `command:paint ${line}`]);
    const message = `The command does not support the field ${name}: write {${name}} where its value belongs.`;
    expect(await generate("{promptFile} {output}")).toMatchObject({
      code: 2,
      document: { error: { message } },
    });
    const { document } = await generate(`{promptFile} {output} {${name}}`);
    expect(document).toMatchObject({ sent: { command: expect.arrayContaining([value]) } });
  });

  it.each([
    [
      "of another value are another request, and of the same one are reused",
      3,
      [
        ["--seed 7 -f a=1 -f b=2", false],
        ["--seed 7 -f b=2 -f a=1", true],
        ["--seed 8 -f a=1 -f b=2", false],
        ["--seed 7 -f a=1 -f b=3", false],
      ],
    ],
    [
      "are the same request by --seed and by the field's own name, but where several images count it up",
      5,
      [
        ["--seed 2", false],
        ["-f seed=2", true],
        ["-n 2 --seed 2", false],
        ["-n 2 -f seed=2", false],
      ],
    ],
  ] as const)("%s", async (_what, submits, commands) => {
    const world = await generatorWorld();
    for (const [flags, isReused] of commands) expect(await reuses(world, ...words(flags))).toBe(isReused);
    expect(world.generator.submits()).toHaveLength(submits);
  });

  it("are kept by rerun but for what its flags change, whatever is set since", async () => {
    const { json, run, generator } = await generatorWorld();
    const { document } = await json(["generate", "a fox", ...FIELDS]);
    await run(["config", "set", "field", "cfg_scale=3"]);
    const same = { seed: 7, negative_prompt: "rain, snow", steps: 20 };
    for (const [flags, changed] of [
      [[], {}],
      [["-f", "steps=30"], { steps: 30 }],
      [["--seed", "8"], { seed: 8 }],
      [["-f", "seed=9"], { seed: 9 }],
      [["--negative", "fog"], { negative_prompt: "fog" }],
    ] as const) {
      expect((await json(["rerun", String(document.taskId), ...flags])).code).toBe(0);
      const { seed, negative_prompt, steps, cfg_scale } = JSON.parse(generator.submits().at(-1)?.body ?? "");
      expect({ seed, negative_prompt, steps, cfg_scale }).toEqual({ ...same, ...changed });
    }
  });

  it("have settings, which count where a flag says nothing", async () => {
    const { json, run, generator } = await generatorWorld();
    for (const setting of [
      ["seed", "5"],
      ["negative", "fog"],
      ["field", "steps=8 cfg_scale=2"],
    ])
      expect(await run(["config", "set", ...setting])).toMatchObject({ code: 0 });
    expect((await json(["generate", "a fox", "-f", "steps=9"])).code).toBe(0);
    expect(bodiesOf(generator)).toMatchObject([{ seed: 5, negative_prompt: "fog", steps: 9, cfg_scale: 2 }]);
  });

  it("are columns of a batch, whose rows are told apart by them", async () => {
    const { run, generator, cwd } = await generatorWorld();
    const rows = ['{"prompt":"a fox","seed":1}', '{"prompt":"a fox","seed":2,"fields":{"steps":4}}'];
    await writeFile(path.join(cwd, "rows.jsonl"), rows.join("\n"));
    await writeFile(path.join(cwd, "rows.csv"), "prompt,seed,fields\na fox,3,steps=4 hd=true\n");
    for (const manifest of ["rows.jsonl", "rows.jsonl", "rows.csv"])
      expect((await run(["batch", manifest, "-o", "made"])).code).toBe(0);
    expect(bodiesOf(generator)).toMatchObject([{ seed: 1 }, { seed: 2, steps: 4 }, { seed: 3, hd: true }]);
  });
});

describe("compare --field", () => {
  it("makes an image for each value, and the table names it", async () => {
    const { run, generator } = await generatorWorld();
    const { code, stdout } = await run(["compare", "a fox", "-f", "seed=1,2", "-f", "steps=4", "--sheet"]);
    expect(code).toBe(0);
    expect(bodiesOf(generator)).toMatchObject([
      { seed: 1, steps: 4 },
      { seed: 2, steps: 4 },
    ]);
    expect(stdout).toContain("SEED");
    expect(stdout).not.toContain("STEPS");
  });

  it("takes a value with a comma in double quotes, or where the field is given several times", async () => {
    const { json } = await generatorWorld();
    const cells = async (...fields: string[]) => {
      const flags = fields.flatMap((each) => ["-f", each]);
      const { document } = await json(["compare", "a fox", "--dry-run", ...flags]);
      return Object.values(document.cells ?? {}).map(({ request }) => request?.fields);
    };
    expect(await cells('style="a, b"')).toEqual([{ style: "a, b" }]);
    expect(await cells("style=a, b", "style=c")).toEqual([{ style: "a, b" }, { style: "c" }]);
  });
});

describe("--field-json", () => {
  const LORAS = [{ path: "fox", scale: 0.8 }];
  const FLAG = ["--field-json", `loras=${JSON.stringify(LORAS)}`];

  it("sends objects and lists, which are in history, reused, kept by rerun, and on the gallery's page", async () => {
    const world = await generatorWorld();
    const { json, run, generator } = world;
    const [style, STYLE] = [{ name: "ink" }, ["--field-json", 'style={"name":"ink"}']];
    const { code, document } = await json(["generate", "a fox", ...FLAG, ...STYLE]);
    expect(code).toBe(0);
    expect(bodiesOf(generator)).toMatchObject([{ loras: LORAS, style }]);
    expect((await json(["history"])).document).toMatchObject([{ request: { fields: { loras: LORAS } } }]);
    expect(await reuses(world, ...STYLE, ...FLAG)).toBe(true);
    expect((await json(["rerun", String(document.taskId), "--field-json", "loras=[]"])).code).toBe(0);
    expect(JSON.parse(generator.submits().at(-1)?.body ?? "")).toMatchObject({ loras: [], style });
    await run(["gallery"]);
    const folder = path.dirname(String(document.files?.[0]?.path));
    expect(await readFile(path.join(folder, "gallery.html"), "utf8")).toContain('"style":"{');
  });

  it("has a setting, is a column of a batch, and --field stays text", async () => {
    const { json, run, generator, cwd } = await generatorWorld();
    await run(["config", "set", "fieldJson", JSON.stringify({ loras: LORAS, steps: 4 })]);
    expect((await json(["generate", "a fox", "-f", "steps=5", "-f", "note=[1,2]"])).code).toBe(0);
    expect(bodiesOf(generator)).toMatchObject([{ loras: LORAS, steps: 5, note: "[1,2]" }]);
    const row = { prompt: "a fox", fields: { loras: [] } };
    await writeFile(path.join(cwd, "rows.jsonl"), JSON.stringify(row));
    expect((await run(["batch", "rows.jsonl", "-o", "made"])).code).toBe(0);
    expect(JSON.parse(generator.submits().at(-1)?.body ?? "")).toMatchObject({ loras: [] });
  });

  it.each([
    ["loras=[", /^--field-json: the value of loras is not JSON/],
    ["loras", /must be like loras=/],
    [
      "limits=[18446744073709551615]",
      /^--field-json: the value of limits has a number that JSON readers would round\.$/,
    ],
    ['parameters={"sampleCount":4}', /^--field-json: sampleCount in parameters is set by imggen\.$/],
    ["n=4", /^--field-json: n is set by imggen\.$/],
  ])("refuses %s", async (field, message) => {
    const { json, generator } = await generatorWorld();
    const error = { message: expect.stringMatching(message) };
    expect(await json(["generate", "a fox", "--field-json", field])).toMatchObject({
      code: 2,
      document: { error },
    });
    expect(generator.requests).toEqual([]);
  });
});
