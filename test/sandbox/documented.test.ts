import { describe, expect, it } from "vitest";
import { MODELS } from "../../src/models/matrix.ts";
import { readRequest } from "../../src/sandbox/submit.ts";
import { ALL_QUALITIES, ALL_RATIOS, DOCUMENT, neededImages } from "../models/document.ts";
import { words } from "../support/words.ts";

const urls = (count: number) =>
  Array.from({ length: count }, (_, index) => `https://images.test/${index}.png`);

describe.each(DOCUMENT)("the sandbox's $id", (row) => {
  const request = { prompt: "a fox", model: row.id, image: neededImages(row) };
  const isTaken = (part: object) => "valid" in readRequest({ ...request, ...part }, MODELS);
  const taken = <Value>(name: string, values: readonly Value[]) =>
    values.filter((value) => isTaken({ [name]: value }));

  it("takes as many characters as documented, counted as code points", () => {
    expect(isTaken({ prompt: "🦊".repeat(row.promptLimit) })).toBe(true);
    expect(readRequest({ ...request, prompt: "🦊".repeat(row.promptLimit + 1) }, MODELS)).toMatchObject({
      refused: { status: 200, body: { code: -1, message: "image_generation.error.prompt_too_long" } },
    });
  });

  it("takes the ratios of its row, or any where it has none", () => {
    const ratios = row.ratios === null ? ALL_RATIOS : words(row.ratios);
    expect(taken("ratio", ALL_RATIOS)).toEqual(ALL_RATIOS.filter((ratio) => ratios.includes(ratio)));
    expect(taken("ratio", ["", "16x9", "0:1", "wide"])).toEqual([]);
    expect(isTaken({ ratio: "7:5" })).toBe(row.ratios === null);
  });

  it("takes its qualities in the document's spelling", () => {
    const own = row.qualities === null ? ALL_QUALITIES : words(row.qualities);
    expect(taken("quality", ALL_QUALITIES)).toEqual(ALL_QUALITIES.filter((quality) => own.includes(quality)));
    expect(taken("quality", ["", "1k", "HIGH", "8K"])).toEqual([]);
  });

  it("takes as many images as it makes", () => {
    const most = row.id === "z-image" ? 15 : (row.maxImages ?? 15);
    const counts = [1, 2, 4, 15];
    expect(taken("maxImages", counts)).toEqual(counts.filter((count) => count <= most));
    expect(taken("maxImages", [0, -1, 16, 1.5, 1e9])).toEqual([]);
  });

  it("takes as many reference images as it is documented to", () => {
    const [min, max] = row.references ?? [0, null];
    const lists = [0, 1, 16, 17].map(urls);
    expect(taken("image", lists)).toEqual(
      lists.filter(({ length }) => length >= min && length <= (max ?? 17)),
    );
    expect(isTaken({ image: "https://images.test/fox.png" })).toBe(max !== 0);
    expect(taken("image", ["fox.png", "file:///fox.png", ""])).toEqual([]);
  });
});
