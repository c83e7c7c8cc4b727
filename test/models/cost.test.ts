import { describe, expect, it } from "vitest";
import { documentedCost, estimateCost } from "../../src/models/cost.ts";
import type { Model } from "../../src/models/matrix.ts";
import { resolveModel } from "./built-in.ts";
import { ALL_QUALITIES, DOCUMENT } from "./document.ts";

function modelOf(id: string): Model {
  const model = resolveModel(id);
  if (model === undefined) throw new Error(`no model ${id}`);
  return model;
}

describe("the price of a request", () => {
  it.each([
    ["gamma-image-2", "1K", 2],
    ["gamma-image-2", "2K", 4],
    ["gamma-image-2", "4K", 8],
    ["gamma-image-2", "4k", 8],
    ["gamma-image-2-5-flare-text", undefined, 3],
    ["gamma-image-2-5-flare-text", "1K", 3],
    ["gamma-image-2-5-flare-image", "2K", 5],
    ["gamma-image-2-5-sunburst-text", "4K", 8],
    ["delta-Image", undefined, 2],
    ["delta-Image", "4K", 2],
    ["delta-Image", "anything", 2],
  ])("of %s at quality %s is %i credits", (id, quality, credits) => {
    expect(documentedCost(modelOf(id), quality)).toBe(credits);
    expect(estimateCost(modelOf(id), quality)).toEqual({ credits, estimate: false });
  });

  it("of gamma-image-2 without a quality is its lowest, as an estimate", () => {
    expect(documentedCost(modelOf("gamma-image-2"), undefined)).toBeNull();
    expect(estimateCost(modelOf("gamma-image-2"), undefined)).toEqual({ credits: 2, estimate: true });
  });

  it.each(["basic", "8K", "default", "constructor"])(
    "of gamma at quality %s is not documented",
    (quality) => {
      for (const id of ["gamma-image-2", "gamma-image-2-5-flare-text"]) {
        expect(estimateCost(modelOf(id), quality)).toEqual({ credits: null, estimate: false });
      }
    },
  );

  const unpriced = DOCUMENT.filter(({ id }) => !/^(gamma|delta)/.test(id));
  it.each(unpriced)("of $id is not documented, whatever the quality", ({ id }) => {
    for (const quality of [undefined, ...ALL_QUALITIES]) {
      expect(estimateCost(modelOf(id), quality)).toEqual({ credits: null, estimate: false });
    }
  });
});
