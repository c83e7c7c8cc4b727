import { expect, it } from "vitest";
import { unknownSubject } from "../../../src/painter/words/unknown-subject.ts";

it.each([
  ["an elephant in the desert", "elephant"],
  ["a photo of a grey elephant walking in the snow", "elephant"],
  ["A herd of elephants, golden hour", "elephants"],
  ["watercolor, a pineapple on a table", "pineapple"],
  ["tiger", "tiger"],
])("the main noun of %j is not painted: %s", (prompt, noun) => {
  expect(unknownSubject(prompt)).toBe(noun);
});

it.each([
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
