import { describe, expect, it } from "vitest";
import { checkRows, type RowDefaults } from "../../../src/core/batch/check-rows.ts";
import { parseShard } from "../../../src/core/batch/shard.ts";
import { ManifestError } from "../../../src/core/errors.ts";
import type { ManifestEntry, RowValues } from "../../../src/core/manifest/entry.ts";
import { COMMAND_VOCABULARY } from "../../../src/lib/wording.ts";
import { MODELS } from "../../../src/models/matrix.ts";

const DEFAULTS: RowDefaults = {
  matrix: MODELS,
  values: { model: "z-image", ratio: undefined, quality: undefined, image: undefined, maxImages: undefined },
  labels: { model: "--model" },
  words: COMMAND_VOCABULARY,
  validate: true,
  shard: null,
};

async function* entriesOf(values: readonly (RowValues | string)[]): AsyncGenerator<ManifestEntry> {
  for (const [index, value] of values.entries()) {
    const line = index + 1;
    yield typeof value === "string" ? { line, message: value } : { line, values: value };
  }
}

async function checked(values: readonly (RowValues | string)[], defaults: Partial<RowDefaults> = {}) {
  try {
    return { ...(await checkRows(entriesOf(values), { ...DEFAULTS, ...defaults })), problems: [] };
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return { rows: [], problems: error.problems };
  }
}

describe("a manifest's rows", () => {
  it("may ask for no reference images in spite of a default", async () => {
    const values = { ...DEFAULTS.values, model: "gamma-image-2", image: ["https://images.test/1.png"] };
    const { rows } = await checked([{ prompt: "a fox" }, { prompt: "a hen", image: [] }], { values });
    expect(rows.map(({ checked: { request } }) => "image" in request)).toEqual([true, false]);
  });

  it("name what set a bad value: the row itself, or the flag", async () => {
    const { problems } = await checked([{ prompt: "a fox" }, { prompt: "a hen", model: "no-such-model" }], {
      values: { ...DEFAULTS.values, model: "another-one" },
    });
    expect(problems[0]?.message).toContain("--model");
    expect(problems[1]?.message).not.toContain("--model");
  });

  it("are not held to the matrix with --no-validate", async () => {
    const values = [{ prompt: "a fox", model: "brand/new" }];
    expect((await checked(values)).problems).toHaveLength(1);
    const { rows, problems } = await checked(values, { validate: false });
    expect(problems).toEqual([]);
    expect(rows[0]?.checked.request.model).toBe("brand/new");
  });

  it("are counted, whatever lies between them, and in a part as in the whole", async () => {
    const values = Array.from({ length: 20 }, (_, index) => ({ prompt: `fox ${index}` }));
    const { rows } = await checked(values, { shard: parseShard("1/2") });
    expect(rows.length).toBeLessThan(20);
    expect(rows.map(({ row }) => row)).toEqual(rows.map(({ line }) => line));
    const unnumbered = (async function* () {
      yield { line: 2, values: { prompt: "a fox" } };
      yield { line: 4, values: { prompt: "an owl" } };
    })();
    expect((await checkRows(unnumbered, DEFAULTS)).rows).toMatchObject([
      { row: 1, line: 2 },
      { row: 2, line: 4 },
    ]);
  });

  it("are known by their content and their number among equals, wherever they stand", async () => {
    const [fox, hen] = [{ prompt: "a fox" }, { prompt: "a hen" }];
    const keys = async (...values: RowValues[]) => (await checked(values)).rows.map(({ key }) => key);
    const [first, second, third] = await keys(fox, hen, fox);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(await keys(hen, fox, fox)).toEqual([second, first, third]);
    expect(await keys({ prompt: "a fox", model: "z-image" })).toEqual([first]);
  });

  it("cannot share an output, or be in each other's way", async () => {
    const { problems } = await checked([
      { prompt: "a fox", output: "fox.png" },
      { prompt: "a hen", output: "FOX.png" },
      { prompt: "a cat", output: "fox.png/cat" },
    ]);
    expect(problems.map(({ line }) => line)).toEqual([2, 3]);
  });

  it("of other parts are left out, but checked: each machine finds the same mistakes", async () => {
    const values = [
      ...Array.from({ length: 20 }, (_, index) => ({ prompt: `fox ${index}` })),
      { prompt: " " },
    ];
    const inParts = (rows: readonly RowValues[]) =>
      Promise.all(["1/2", "2/2"].map((text) => checked(rows, { shard: parseShard(text) })));
    for (const { problems } of await inParts(values)) expect(problems.map(({ line }) => line)).toEqual([21]);
    const parts = await inParts(values.slice(0, -1));
    const lines = parts.flatMap(({ rows }) => rows.map(({ line }) => line));
    expect(lines.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    for (const { rows } of parts) expect(rows.length).toBeGreaterThan(0);
  });
});
