import { describe, expect, test } from "vitest";
import { SUBJECTS } from "../../../src/painter/data/drawings.ts";
import { readBrief, wordsOf } from "../../../src/painter/words/brief.ts";
import { requestFor } from "../picture-spec.ts";

const brief = (prompt: string) => readBrief(requestFor(prompt));

describe("the words of a prompt", () => {
  test.each([
    ["a red fox", "a red fox", ""],
    ["no clouds or people, but a red fox", "a red fox", "clouds cloud or people"],
    ["a beach without people or cars at dawn", "a beach dawn", "people or cars car"],
    ["no clouds and a red fox", "red fox", "clouds cloud and"],
    ["a cloudless sky, smoke-free", "a sky", "cloud smoke"],
    ["not a fox. A cat", "a cat", "a fox"],
    ["black and white photo", "monochrome photo", ""],
    ["in color, not black & white", "color", "monochrome"],
    ["don’t draw trees", "", "draw trees tree"],
  ])("of %j: %j are wanted, %j are ruled out", (prompt, wanted, excluded) => {
    const words = wordsOf(prompt);
    expect(words.wanted.join(" ")).toBe(wanted);
    expect([...words.excluded].join(" ")).toBe(excluded);
  });
});

describe("a prompt", () => {
  test("names subject, light and style", () => {
    const read = brief("A Lighthouse at DUSK, oil painting");
    expect(read).toMatchObject({ subject: SUBJECTS.lighthouse, setting: "sea", style: "oil" });
    expect(read.light.lamps).toBe(1);
  });

  test("names setting, season and colour besides the subject", () => {
    const read = brief("three red foxes in a snowy forest");
    expect(read).toMatchObject({ subject: SUBJECTS.fox, setting: "forest", land: { snow: 1 } });
    expect(read.accent).toEqual([210, 59, 47]);
  });

  test.each([
    ["a mountain lake", "mountains"],
    ["skylines", "city"],
    ["wolves in the woods", "forest"],
    ["a field of sunflowers", "meadow"],
    ["an abstract pattern", "shapes"],
    ["a boat", "sea"],
  ])("%j is set in: %s", (prompt, setting) => {
    expect(brief(prompt).setting).toBe(setting);
  });

  test.each(["sandbox", "xyzzy", "", "freedom of speech"])(
    "%j, which names nothing to draw, gives a composition",
    (prompt) => {
      expect(brief(prompt)).toMatchObject({ setting: "shapes", subject: undefined });
    },
  );

  test.each([
    ["a watercolor painting of an oil rig", "watercolor"],
    ["a painting of a boat", "oil"],
    ["pencil drawing", "sketch"],
    ["pixel art", "pixels"],
    ["minimalist poster", "poster"],
  ])("%j asks for the style %s, whatever the model", (prompt, style) => {
    for (const model of ["vendor1/alpha-2", "delta-Image", "z-image"]) {
      expect(readBrief(requestFor(prompt, { model })).style).toBe(style);
    }
  });

  test("that names no style gets that of the model", () => {
    const styles = ["vendor1/alpha-2", "beta/4.5-edit", "vendor2/beta-v5.0", "delta-Image"].map(
      (model) => readBrief(requestFor("a lake", { model })).style,
    );
    expect(styles).toEqual(["plain", "watercolor", "oil", "poster"]);
  });

  test.each([
    ["a fox in the snow", "snow"],
    ["a house in the rain", "rain"],
    ["a misty forest", "mist"],
    ["a fox, no snow", undefined],
  ])("%j asks for the weather: %s", (prompt, weather) => {
    expect(brief(prompt).weather).toBe(weather);
  });

  test("gives the subject the colour next to it, not that of its surroundings", () => {
    expect(brief("a blue sea and a red boat").accent).toEqual(brief("a red boat").accent);
    expect(brief("a black cat").vivid).toBe(1);
    expect(brief("a cat, black and white").vivid).toBe(0);
    expect(brief("a cat, no colours").vivid).toBe(0);
  });

  test("that rules out snow gets none, on the mountains either", () => {
    expect(brief("mountains at noon").land.snow).toBeGreaterThan(0);
    expect(brief("mountains at noon, no snow").land.snow).toBe(0);
  });

  test.each(["a beach without people", "a mountain, no castle", "never a cat, but a lake"])(
    "%j has no subject: the one it names is ruled out",
    (prompt) => {
      expect(brief(prompt).subject).toBeUndefined();
    },
  );
});
