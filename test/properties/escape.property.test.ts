import fc from "fast-check";
import { expect, it } from "vitest";
import { escapeControls, escapeJson } from "../../src/lib/escape.ts";
import { isInert, nastyText } from "../support/active-characters.ts";
import { addToCount } from "../support/count.ts";
import { holds } from "../support/holds.ts";

/** Allowed where it follows a sign that it colours, not alone. */
const EMOJI_STYLE = 0xfe0f;

/** What a terminal acts on, whole and in pieces, among ordinary text. */
const attack = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\u001b[2J",
        "\u009b31m",
        "\u001b]8;;https://x.example\u0007",
        "\u001b]52;c;eA==\u001b\\",
      ),
      fc.constantFrom("\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\u{e0041}", "\r", "\n", "\t", "\0"),
      fc.constantFrom("fox", "é", "狐", "🦊", "❤\ufe0f", "1\ufe0f\u20e3", "\\", '"', "\ud83d", "\udd8a"),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));
const text = fc.oneof(attack, nastyText);

it("text for one line holds nothing that acts or hides, and is the same when it is escaped again", () => {
  holds(
    fc.property(text, (given) => {
      const shown = escapeControls(given);
      expect(isInert(shown)).toBe(true);
      expect(escapeControls(shown)).toBe(shown);
    }),
  );
});

it("text that is inert already is left as it is", () => {
  const words = fc.constantFrom(
    "a red fox, 3 × 5",
    "größe",
    "日本語",
    "العربية",
    "🦊",
    "❤\ufe0f",
    "\\n",
    " ",
    "\u00a0",
  );
  holds(
    fc.property(
      fc.oneof(
        fc.array(words, { maxLength: 6 }).map((all) => all.join(" ")),
        fc.string(),
      ),
      (given) => {
        expect(escapeControls(given)).toBe(given);
      },
    ),
  );
});

it("JSON parses to the same value, on one line that is inert", () => {
  const value = fc.oneof(
    text,
    fc.array(text, { maxLength: 3 }),
    fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constantFrom(null, true)), { maxKeys: 3 }),
  );
  holds(
    fc.property(value, (given) => {
      const json = JSON.stringify(given);
      const safe = escapeJson(json);
      expect(JSON.parse(safe)).toEqual(JSON.parse(json));
      expect(isInert(safe)).toBe(true);
    }),
  );
});

it("every character of Unicode's planes 0, 1 and 14, alone, is inert or shown as plain ASCII", () => {
  const wrong: string[] = [];
  for (const plane of [0, 1, 14]) {
    for (let code = plane << 16; code >> 16 === plane; code += 1) {
      const character = String.fromCodePoint(code);
      const shown = escapeControls(character);
      const fine =
        isInert(character) && code !== EMOJI_STYLE ? shown === character : /^\\[ -~]+$/.test(shown);
      const json = escapeJson(JSON.stringify(character));
      if (!fine || JSON.parse(json) !== character || !isInert(json)) wrong.push(code.toString(16));
    }
  }
  addToCount("cases", 3 << 16);
  expect(wrong).toEqual([]);
});
