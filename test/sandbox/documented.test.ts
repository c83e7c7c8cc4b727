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

  it("takes as many characters as documented, counted as code points", () => {
    expect(isTaken({ prompt: "🦊".repeat(row.promptLimit) })).toBe(true);
    expect(readRequest({ ...request, prompt: "🦊".repeat(row.promptLimit + 1) }, MODELS)).toMatchObject({
      refused: { status: 200, body: { code: -1, message: "image_generation.error.prompt_too_long" } },
    });
  });

  it("takes the ratios of its row, or any where it has none", () => {
    const taken = row.ratios === null ? ALL_RATIOS : words(row.ratios);
    expect(ALL_RATIOS.filter((ratio) => isTaken({ ratio }))).toEqual(
      ALL_RATIOS.filter((ratio) => taken.includes(ratio)),
    );
    expect(["", "16x9", "0:1", "wide"].filter((ratio) => isTaken({ ratio }))).toEqual([]);
    expect(isTaken({ ratio: "7:5" })).toBe(row.ratios === null);
  });

  it("takes its qualities in the document's spelling", () => {
    const taken = row.qualities === null ? ALL_QUALITIES : words(row.qualities);
    expect(ALL_QUALITIES.filter((quality) => isTaken({ quality }))).toEqual(
      ALL_QUALITIES.filter((quality) => taken.includes(quality)),
    );
    expect(["", "1k", "HIGH", "8K"].filter((quality) => isTaken({ quality }))).toEqual([]);
  });

  it("takes as many images as it makes", () => {
    const most = row.id === "z-image" ? 15 : (row.maxImages ?? 15);
    const counts = [1, 2, 4, 15];
    expect(counts.filter((maxImages) => isTaken({ maxImages }))).toEqual(
      counts.filter((count) => count <= most),
    );
    expect([0, -1, 16, 1.5, 1e9].filter((maxImages) => isTaken({ maxImages }))).toEqual([]);
  });

  it("takes as many reference images as it is documented to", () => {
    const [min, max] = row.references ?? [0, null];
    const counts = [0, 1, 16, 17];
    expect(counts.filter((count) => isTaken({ image: urls(count) }))).toEqual(
      counts.filter((count) => count >= min && count <= (max ?? 17)),
    );
    expect(isTaken({ image: "https://images.test/fox.png" })).toBe(max !== 0);
    expect(["fox.png", "file:///fox.png", ""].filter((image) => isTaken({ image }))).toEqual([]);
  });
});
