import { describe, expect, it } from "vitest";
import { entriesOf, read } from "./entries.ts";

const row = (value: unknown) => read(JSON.stringify(value), "jsonl");
const FOX = "https://images.test/fox.png";

describe("a manifest of JSON lines", () => {
  it("has an object a line, every key of it optional but the prompt", async () => {
    const all = {
      prompt: "a fox\nin snow",
      model: "z-image",
      ratio: "1:1",
      quality: "2K",
      image: [FOX, FOX],
      maxImages: 2,
      output: "foxes/1",
    };
    expect(await read(`${JSON.stringify(all)}\n\n  \n{ "prompt": "an owl" }\r\n`, "jsonl")).toEqual([
      [1, all],
      [4, { prompt: "an owl" }],
    ]);
  });

  it("takes one image as a string, null as not set, and digits as a number", async () => {
    const given = { prompt: "a", image: FOX, maxImages: "3", model: null, output: null, quality: null };
    expect(await row(given)).toEqual([[1, { prompt: "a", image: [FOX], maxImages: 3 }]]);
    expect(await row({ prompt: "a", image: [] })).toEqual([[1, { prompt: "a", image: [] }]]);
    expect(await row({ prompt: "a", image: null })).toEqual([[1, { prompt: "a" }]]);
  });

  it.each([
    [{ prompt: 5 }, "prompt is 5, not text"],
    [{}, "the prompt is missing"],
    [{ prompt: null }, "the prompt is missing"],
    [{ prompt: "" }, "the prompt is empty"],
    [{ prompt: " \n\t" }, "the prompt is empty"],
    [{ prompt: "a", model: ["z-image"] }, "model is a list, not text"],
    [{ prompt: "a", ratio: { w: 1 } }, "ratio is an object, not text"],
    [{ prompt: "a", quality: true }, "quality is true, not text"],
    [{ prompt: "a", image: 5 }, "image is 5, not a URL or a list of URLs"],
    [{ prompt: "a", image: ["x", 5] }, "image is a list, not a URL or a list of URLs"],
    [{ prompt: "a", maxImages: "two" }, 'maxImages is "two", not a whole number'],
    [{ prompt: "a", maxImages: 1.5 }, "maxImages is 1.5, not a whole number"],
    [{ prompt: "a", maxImages: -1 }, "maxImages is -1: at least 1"],
    [{ prompt: "a", maxImages: 1e300 }, "maxImages is 1e+300: at most 15"],
    [{ prompt: "a", seed: -1 }, "seed is -1: at least 0"],
    [
      { prompt: "a", seed: "18446744073709551616" },
      'seed is "18446744073709551616": at most 18446744073709551615',
    ],
    [{ prompt: "a", maxImages: "" }, 'maxImages is "", not a whole number'],
    [{ prompt: "a", output: 1 }, "output is 1, not text"],
    [{ prompt: "a", output: "../a" }, 'output "../a": it must not leave the output folder'],
    ["a fox", "not an object but a string"],
    [["a fox"], "not an object but a list"],
    [null, "not an object but null"],
    [5, "not an object but a number"],
  ])("refuses %j", async (value, problem) => {
    expect(await row(value)).toEqual([`1: ${problem}`]);
  });

  it.each([
    "a fox",
    '{"prompt":"a"',
    "{'prompt':'a'}",
    '{"prompt":"a"} {"prompt":"b"}',
    "[",
    '{"prompt":"a",}',
  ])("says that %j is not JSON", async (text) => {
    const found = await read(`{"prompt":"ok"}\n${text}\n{"prompt":"ok"}`, "jsonl");
    expect(found).toEqual([
      [1, { prompt: "ok" }],
      expect.stringMatching(/^2: not JSON \(.+\); each line must be a JSON object$/),
      [3, { prompt: "ok" }],
    ]);
  });

  it("keeps other keys by their names, as text, for templates", async () => {
    const [entry] = await entriesOf(
      '{"prompt":"a","colour":"red","size":3,"list":[1],"__proto__":"p"}',
      "jsonl",
    );
    const others = { colour: "red", size: "3", list: "", ["__proto__"]: "p" };
    expect(entry).toMatchObject({ values: { prompt: "a" }, others: new Map(Object.entries(others)) });
  });

  it("makes the prompt of rows without one from a template", async () => {
    const text = '{"colour":"red"}\n{"colour":5}\n{"style":"ink"}';
    expect(await entriesOf(text, "jsonl", undefined, { template: "a {colour} fox" })).toMatchObject([
      { values: { prompt: "a red fox" } },
      { values: { prompt: "a 5 fox" } },
      { message: "the row has no value for {colour}, which the template uses" },
    ]);
  });

  it("takes keys in any case, with blanks, - or _ between words, each once", async () => {
    expect(await row({ PROMPT: "a", Ratio: "1:1", max_images: 2 })).toEqual([
      [1, { prompt: "a", ratio: "1:1", maxImages: 2 }],
    ]);
    expect(await row({ prompt: "a", Prompt: "b" })).toEqual(["1: the column prompt occurs more than once"]);
  });

  it("reports all that is wrong with a row, and what may have been meant by a key near a known one", async () => {
    expect(await row({ promt: 5, model: 6, ratios: 7 })).toEqual([
      '1: unknown column "promt"; did you mean "prompt"? If not, rename the column',
      '1: unknown column "ratios"; did you mean "ratio"? If not, rename the column',
      "1: model is 6, not text",
    ]);
  });

  it("takes __proto__ for the key that it is, and the last of equal keys", async () => {
    expect(await read('{"prompt":"a","__proto__":{"model":"m","prompt":"b"}}', "jsonl")).toEqual([
      [1, { prompt: "a" }],
    ]);
    expect(await read('{"__proto__":{"prompt":"b"}}', "jsonl")).toEqual(["1: the prompt is missing"]);
    expect(await read('{"prompt":"a","prompt":"b"}', "jsonl")).toEqual([[1, { prompt: "b" }]]);
  });
});
