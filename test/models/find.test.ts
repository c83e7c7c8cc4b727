import { describe, expect, it } from "vitest";
import type { Model } from "../../src/models/matrix.ts";
import { cpuTimeOf } from "../support/cpu-time.ts";
import { words } from "../support/words.ts";
import { findModels, nearestModels, resolveModel } from "./built-in.ts";
import { DOCUMENT } from "./document.ts";

const ids = (models: Model[]) => models.map(({ id }) => id);

describe("resolveModel", () => {
  it.each(DOCUMENT)("finds $id by its id, in any case, and by its tail", ({ id }) => {
    const tail = id.split("/").at(-1) ?? "";
    for (const name of [id, id.toUpperCase(), id.toLowerCase(), tail, tail.toUpperCase()]) {
      expect(resolveModel(name)?.id).toBe(id);
    }
  });

  it.each([...words("alpha-3 gamma vendor1 vendor1/ /alpha-2 vendor2/alpha-2 constructor"), "", " z-image"])(
    "knows no model called %j",
    (name) => {
      expect(resolveModel(name)).toBeUndefined();
    },
  );
});

describe("nearestModels", () => {
  it.each([
    ["alpha-3", "vendor1/alpha-2"],
    ["zimage", "z-image"],
    ["z-image-turbo", "z-image"],
    ["Delta", "delta-Image"],
    ["sunburst", "gamma-image-2-5-sunburst-text"],
    ["gama-image-2", "gamma-image-2"],
    ["gama", "gamma-image-2"],
    ["gamma2", "gamma-image-2"],
    ["alfa-2", "vendor1/alpha-2"],
    ["flair", "gamma-image-2-5-flare-text"],
    ["vendor1/alpha-pr", "vendor1/alpha-pro"],
    ["beta-v", "vendor2/beta-v4"],
  ])("puts for %s first %s", (name, id) => {
    expect(nearestModels(name)[0]).toBe(id);
  });

  it("names those that begin with a name before those that are only spelled alike", () => {
    expect(nearestModels("gamma-image-2-5-", 4).slice(0, 3).sort()).toEqual([
      "gamma-image-2-5-flare-image",
      "gamma-image-2-5-flare-text",
      "gamma-image-2-5-sunburst-text",
    ]);
  });

  it("names three, or as many as asked, and none that is nothing like the name", () => {
    expect(nearestModels("gamma")).toHaveLength(3);
    expect(new Set(nearestModels("gamma", 4)).size).toBe(4);
    expect(nearestModels("z-imagine")).toEqual(["z-image"]);
    for (const name of ["nothing like it", "nosuch", "", " "]) expect(nearestModels(name)).toEqual([]);
  });

  it("compares no more of an overlong name than an id could be", async () => {
    const cost = await cpuTimeOf(() => expect(nearestModels("🦊".repeat(1_000_000))).toEqual([]));
    expect(cost).toBeLessThan(20_000);
  });
});

describe("findModels", () => {
  it("returns all models for a filter that asks nothing", () => {
    expect(ids(findModels({}).matching)).toEqual(DOCUMENT.map(({ id }) => id));
    expect(findModels({}).undocumented).toEqual([]);
  });

  it.each([
    [
      "that edit",
      { kind: "edit" as const },
      "vendor1/alpha-pro beta/4.5-edit beta/5-lite-image-to-image gamma-image-2 gamma-image-2-5-flare-image delta-Image",
      "vendor1/alpha-2 vendor2/beta-v4 vendor2/beta-v4.5 vendor2/beta-v5.0",
    ],
    [
      "of a ratio",
      { ratio: "9:21" },
      "gamma-image-2",
      `beta/5-lite-text-to-image beta/5-lite-image-to-image gamma-image-2-5-flare-text
      gamma-image-2-5-flare-image gamma-image-2-5-sunburst-text vendor1/alpha`,
    ],
    [
      "of a quality, in any case",
      { quality: "HIGH" },
      "vendor2/beta-v4.5 beta/4.5-text-to-image beta/4.5-edit vendor2/beta-v5.0",
      "beta/5-lite-text-to-image beta/5-lite-image-to-image vendor1/alpha",
    ],
    ["of no quality that the field has", { quality: "8K" }, "", ""],
    [
      "of everything at once",
      { kind: "edit" as const, ratio: "16:9", quality: "4k", references: 2 },
      "vendor1/alpha-pro gamma-image-2",
      "vendor1/alpha-2 beta/5-lite-image-to-image gamma-image-2-5-flare-image",
    ],
  ])("finds the models %s, apart from those of which it is not said", (_what, filter, yes, unsaid) => {
    const { matching, undocumented } = findModels(filter);
    expect([ids(matching), ids(undocumented)]).toEqual([words(yes), words(unsaid)]);
  });

  it.each([
    [0, ["gamma-image-2", "z-image", "gamma-image-2-5-flare-text"], ["delta-Image", "beta/4.5-edit"]],
    [1, ["gamma-image-2", "gamma-image-2-5-flare-image", "delta-Image"], ["z-image"]],
    [16, ["gamma-image-2", "gamma-image-2-5-flare-image", "vendor1/alpha-pro"], ["z-image"]],
    [17, ["vendor1/alpha-pro", "delta-Image"], ["gamma-image-2", "gamma-image-2-5-flare-image"]],
  ])("finds the models of %i reference images", (references, yes, no) => {
    const { matching, undocumented } = findModels({ references });
    expect(ids(matching)).toEqual(expect.arrayContaining(yes));
    for (const id of no) expect(ids([...matching, ...undocumented])).not.toContain(id);
    expect(ids(undocumented)).toContain("vendor1/alpha-2");
  });
});
