import { describe, expect, it } from "vitest";
import { words } from "../../support/words.ts";
import { checkRequest } from "../built-in.ts";
import { ALL_RATIOS, DOCUMENT, neededImages } from "../document.ts";
import { refusalOf } from "../refusal.ts";

const withRow = DOCUMENT.flatMap((row) =>
  row.ratios === null ? [] : [{ ...row, ratios: words(row.ratios) }],
);
const withoutRow = DOCUMENT.filter((row) => row.ratios === null);

describe("the ratio", () => {
  it.each(withRow)("of $id is one of its row, and no other", (row) => {
    const input = { model: row.id, image: neededImages(row) };
    for (const ratio of ALL_RATIOS) {
      if (row.ratios.includes(ratio)) {
        expect(checkRequest({ ...input, prompt: "a fox", ratio }).request.ratio).toBe(ratio);
      } else {
        expect(refusalOf({ ...input, ratio }).message).toBe(
          `--ratio ${ratio}: ${row.id} takes only ${row.ratios.join(", ")}`,
        );
      }
    }
  });

  it.each(withoutRow)("of $id may be any, with a warning where the document has no such ratio", (row) => {
    const input = { prompt: "a fox", model: row.id, image: neededImages(row) };
    const warned = (ratio: string) =>
      checkRequest({ ...input, ratio }).warnings.filter((warning) => warning.includes(ratio));
    for (const ratio of ALL_RATIOS) expect(warned(ratio)).toEqual([]);
    expect(warned("7:5")).toHaveLength(1);
    expect(warned("1920:1080")).toEqual([expect.stringContaining("16:9 is the same shape")]);
    expect(checkRequest({ ...input, ratio: "7:5" }).request.ratio).toBe("7:5");
  });

  it.each([
    ["16x9", "Write it as 16:9"],
    ["1920x1080", "Write it as 16:9"],
    ["AUTO", "Write it as auto"],
    ["wide", "Write it as width:height, such as 16:9, or auto"],
    ["0:1", "Write it as width:height, such as 16:9, or auto"],
  ])("that is malformed is refused for every model: %s", (ratio, hint) => {
    const message = `--ratio ${ratio} is neither width:height in whole numbers nor auto`;
    for (const row of DOCUMENT)
      expect(refusalOf({ model: row.id, image: neededImages(row), ratio })).toEqual({ message, hint });
  });

  it("that is refused brings up the models that take it and the nearest that this one takes", () => {
    expect(refusalOf({ ratio: "9:21" }).hint).toBe(
      "Models that take 9:21: gamma-image-2; the nearest that vendor1/alpha-2 takes is 9:16",
    );
    expect(refusalOf({ model: "z-image", ratio: "auto" }).hint).toBe(
      "Models that take auto: vendor1/alpha-2, gamma-image-2",
    );
  });

  it("that no model is documented to take names where to look", () => {
    expect(refusalOf({ ratio: "27:16" }).hint).toContain("imggen models --ratio 27:16");
  });

  it("in pixels is refused with the same shape in the model's own form", () => {
    expect(refusalOf({ ratio: "1920:1080" }).hint).toBe("1920:1080 is 16:9: write 16:9");
    expect(String(refusalOf({ ratio: "7:3" }).hint)).toMatch(/^7:3 is 21:9: write 21:9/);
  });
});
