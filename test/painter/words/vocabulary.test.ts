import { describe, expect, test } from "vitest";
import { wordsOf } from "../../../src/painter/words/vocabulary.ts";

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
