import { describe, expect, test } from "vitest";
import { parsePrompt, readBrief, unknownSubject } from "../../src/painter/brief.ts";
import { SUBJECTS } from "../../src/painter/drawings.ts";
import { requestFor } from "./picture-spec.ts";

const brief = (prompt: string) => readBrief({ ...requestFor(prompt), width: 64, height: 64 });

describe("the words of a prompt", () => {
  test.each([
    ["a red fox", "a red fox", ""],
    ["no clouds or people, but a red fox", "but a red fox", "clouds cloud or people"],
    ["a beach without people or cars at dawn", "a beach at dawn", "people or cars car"],
    ["no clouds and a red fox", "and a red fox", "clouds cloud"],
    ["a cloudless sky, smoke-free", "a sky", "cloud smoke"],
    ["not a fox. A cat", "a cat", "a fox"],
    ["black and white photo", "monochrome photo", ""],
    ["don’t draw trees", "", "draw trees tree"],
  ])("of %j: %j are wanted, %j are ruled out", (prompt, wanted, excluded) => {
    const words = parsePrompt(prompt);
    expect(words.words.join(" ")).toBe(wanted);
    for (const word of excluded.split(" ").filter(Boolean)) expect(words.excluded).toContain(word);
  });
});

describe("a prompt", () => {
  test("names subject and light, and a subject has a home", () => {
    const read = brief("A Lighthouse at DUSK, oil painting");
    expect(read).toMatchObject({ subject: { drawing: SUBJECTS.lighthouse }, setting: "sea", isCard: false });
    expect(read.light.lamps).toBe(1);
  });

  test("names setting, season and colour besides the subject", () => {
    const read = brief("three red foxes in a snowy forest");
    expect(read).toMatchObject({ subject: { drawing: SUBJECTS.fox }, setting: "forest", isWinter: true });
    expect(read.subject?.main).toEqual([210, 59, 47]);
  });

  test.each([
    ["a mountain lake", "mountains"],
    ["skylines", "city"],
    ["wolves in the woods", "forest"],
    ["a field of sunflowers", "meadow"],
    ["a boat", "sea"],
  ])("%j is set in: %s", (prompt, setting) => {
    expect(brief(prompt).setting).toBe(setting);
  });

  test.each(["sandbox", "xyzzy", "", "freedom of speech", "an elephant in the woods", "日落时的灯塔"])(
    "%j, whose subject is not known, gives a card",
    (prompt) => {
      expect(brief(prompt)).toMatchObject({ isCard: true, subject: undefined });
    },
  );

  test.each(["a fox", "starry night", "winter", "a meadow", "a grayscale city"])(
    "%j gives no card",
    (prompt) => {
      expect(brief(prompt).isCard).toBe(false);
    },
  );

  test.each([
    ["a fox in the snow", "snow"],
    ["a house in the rain", "rain"],
    ["a fox, no snow", undefined],
  ])("%j asks for the weather: %s", (prompt, weather) => {
    expect(brief(prompt).weather).toBe(weather);
  });

  test("gives the subject the colour next to it, not that of its surroundings", () => {
    expect(brief("a blue sea and a red boat").subject?.main).toEqual(brief("a red boat").subject?.main);
  });

  test("that rules out snow gets none", () => {
    expect(brief("a fox in winter").isWinter).toBe(true);
    expect(brief("a fox in winter, no snow").isWinter).toBe(false);
  });

  test.each(["a beach without people", "a mountain, no castle", "never a cat, but a lake"])(
    "%j has no subject: the one it names is ruled out",
    (prompt) => {
      expect(brief(prompt).subject).toBeUndefined();
    },
  );
});

test.each([
  ["an elephant in the desert", "elephant"],
  ["a photo of a grey elephant walking in the snow", "elephant"],
  ["A herd of elephants, golden hour", "elephants"],
  ["watercolor, a pineapple on a table", "pineapple"],
  ["tiger", "tiger"],
])("the main noun of %j is not painted: %s", (prompt, noun) => {
  expect(unknownSubject(prompt)).toBe(noun);
});

test.each([
  "a red fox",
  "a majestic fox jumping over a fence",
  "a quiet harbour",
  "starry night",
  "two cats and an elephant",
  "a lighthouse, oil painting",
  "no people, but a red fox",
  "",
  "!!!",
  "x".repeat(1000),
])("what is painted, or is no noun, is not named: %j", (prompt) => {
  expect(unknownSubject(prompt)).toBeNull();
});
