import { describe, expect, it } from "vitest";
import { DEFAULT_MODEL, MODELS, QUALITIES, RATIOS } from "../../src/models/matrix.ts";
import { words } from "../support/words.ts";
import { ALL_QUALITIES, ALL_RATIOS, DOCUMENT } from "./document.ts";

const PRICES: Record<string, Record<string, number>> = {
  "gamma-image-2": { "1K": 2, "2K": 4, "4K": 8 },
  "gamma-image-2-5-flare-text": { "1K": 3, "2K": 5, "4K": 8, default: 3 },
  "gamma-image-2-5-flare-image": { "1K": 3, "2K": 5, "4K": 8, default: 3 },
  "gamma-image-2-5-sunburst-text": { "1K": 3, "2K": 5, "4K": 8, default: 3 },
  "delta-Image": { default: 2 },
};

describe("the model matrix", () => {
  it("lists the document's models in its order, and vendor1/alpha last", () => {
    expect(MODELS.map(({ id }) => id)).toEqual(DOCUMENT.map(({ id }) => id));
  });

  it.each(DOCUMENT)("says of $id what the document says", (row) => {
    const model = MODELS.find(({ id }) => id === row.id);
    expect(model).toMatchObject({
      kinds: row.kinds,
      ratios: row.ratios === null ? null : words(row.ratios),
      qualities: row.qualities === null ? null : words(row.qualities),
      maxImages: row.maxImages,
      promptLimit: row.promptLimit,
      defaultRatio: row.id === "gamma-image-2" ? "auto" : "1:1",
      defaultQuality: row.id.startsWith("gamma-image-2-5-") ? "1K" : null,
      documented: row.id !== "vendor1/alpha",
    });
    expect(model?.credits).toEqual(PRICES[row.id] ?? null);
    const [min, max] = row.references ?? [];
    const httpsOnly = row.id === "gamma-image-2-5-flare-image";
    expect(model?.references).toEqual(row.references && { min, max, httpsOnly });
  });

  it("has the fields of `models --json` in their order, and no others", () => {
    for (const model of MODELS) {
      expect(Object.keys(model).join(" ")).toBe(
        "id kinds ratios defaultRatio qualities defaultQuality maxImages promptLimit references credits documented notes",
      );
    }
  });

  it("notes that the 2.5 variants need a subscription and that z-image makes one image", () => {
    const notes = (id: string) => MODELS.find((model) => model.id === id)?.notes.join("; ");
    for (const kind of ["flare-text", "flare-image", "sunburst-text"])
      expect(notes(`gamma-image-2-5-${kind}`)).toContain("Pro or Premium subscription");
    expect(notes("z-image")).toBe("always one image");
  });

  it("names every ratio and quality of the fields, and the default model", () => {
    expect(RATIOS).toEqual(ALL_RATIOS);
    expect(QUALITIES).toEqual(ALL_QUALITIES);
    expect(DEFAULT_MODEL).toBe("vendor1/alpha-2");
  });
});
