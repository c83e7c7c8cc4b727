import { describe, expect, it } from "vitest";
import { providerFields } from "../../src/models/provider-fields.ts";
import { isProviderFields } from "../../src/task/request-fields.ts";
import { words } from "../support/words.ts";

describe("fields of a generator", () => {
  it.each([
    ["steps=20", 20],
    ["cfg=-0.5", -0.5],
    ["tiling=true", true],
    ['["steps=\\"20\\""]', "20"],
    ["seed=9007199254740991", 9_007_199_254_740_991],
  ])("of %s are what is written", (text, value) => {
    expect(Object.values(providerFields("--field", text))).toEqual([value]);
  });

  it.each(["seed=18446744073709551615", "seed=-9007199254740993", "scale=1e999"])(
    "of %s are the same digits, as text: no number is exactly that",
    (text) => {
      expect(Object.values(providerFields("--field", text))).toEqual([text.replace(/^.*=/, "")]);
    },
  );

  it("are no numbers that JSON does not have", () => {
    expect([{ scale: 7 }, { scale: Number.POSITIVE_INFINITY }].map(isProviderFields)).toEqual([true, false]);
  });

  it("are not dropped without a word: a name that cannot be kept is refused", () => {
    expect(() => providerFields("--field", "__proto__=1")).toThrow(
      '--field: "__proto__" is not a valid name.',
    );
  });

  it.each(
    words(`n N num_outputs num_images num_samples numberOfImages max_images candidateCount candidate_count
    sampleCount batchSize Batch-Count`),
  )("cannot ask for more images by %s, each of which has its price", (name) => {
    expect(() => providerFields("--field", `${name}=4`)).toThrow(`--field: ${name} is set by imggen.`);
  });
});
