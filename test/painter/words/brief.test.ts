import { describe, expect, test } from "vitest";
import { readSubject } from "../../../src/painter/data/subject.ts";
import { SUBJECTS } from "../../../src/painter/data/subjects.ts";
import { readBrief } from "../../../src/painter/words/brief.ts";
import { orderFor } from "../picture-spec.ts";

const brief = (prompt: string) => readBrief(orderFor(prompt));

describe("a prompt", () => {
  test("names subject, light and style", () => {
    const read = brief("A Lighthouse at DUSK, oil painting");
    expect(read).toMatchObject({ subject: readSubject(SUBJECTS.lighthouse), setting: "sea", style: "oil" });
    expect(read.light.lamps).toBe(1);
  });

  test("names setting, season and colour besides the subject", () => {
    const read = brief("three red foxes in a snowy forest");
    expect(read).toMatchObject({ subject: readSubject(SUBJECTS.fox), setting: "forest", land: { snow: 1 } });
    expect(read.accent).toEqual([210, 59, 47]);
  });

  test.each([
    ["a mountain lake", "lake"],
    ["skylines", "city"],
    ["wolves in the woods", "forest"],
    ["a field of sunflowers", "meadow"],
    ["saturn", "space"],
    ["an abstract pattern", "forms"],
    ["a cup of coffee", "table"],
  ])("%j is set in: %s", (prompt, setting) => {
    expect(brief(prompt).setting).toBe(setting);
  });

  test.each(["sandbox", "xyzzy", "", "freedom of speech"])(
    "%j, which names nothing to draw, gives a composition",
    (prompt) => {
      expect(["forms", "sheets"]).toContain(brief(prompt).setting);
      expect(brief(prompt).subject).toBeUndefined();
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
      expect(readBrief(orderFor(prompt, { model })).style).toBe(style);
    }
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
    expect(brief("a black cat").grade).toBeUndefined();
    expect(brief("a cat, black and white").grade).toBeDefined();
    expect(brief("a cat, no colours").grade).toBeDefined();
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

test("each model sees colours in its own way, and reference images change them", () => {
  const skies = ["vendor1/alpha-2", "vendor1/alpha-pro", "gamma-image-2", "z-image"].map(
    (model) => readBrief(orderFor("a lake at noon", { model })).light.sky,
  );
  const edited = ["a", "b"].map(
    (references) => readBrief(orderFor("a lake at noon", { references })).light.sky,
  );
  expect(new Set([...skies, ...edited].map(String)).size).toBe(6);
});
