import { expect, it } from "vitest";
import { matchesWords } from "../../src/lib/search-words.ts";

it.each([
  ["owl", "a bowl of fruit", false],
  ["owl", "Two Owls at night", true],
  ["owl", "a snowy-owl", true],
  ["owl night", "an owl at night", true],
  ["owl day", "an owl at night", false],
  ["nig owl", "an owl at night", true],
  ["fox.", "a fox", false],
  ["a.b", "axb", false],
  ["(red)", "a fox (red)", true],
  ["", "a fox", true],
  ["ügel", "ein Hügel", false],
  ["狐", "赤い狐", true],
  ["16:9", "in 16:9", true],
  ["c++", "a c++ book", true],
])("a search for %j in %j: %s", (search, text, isFound) => {
  expect(matchesWords(search, text)).toBe(isFound);
});
