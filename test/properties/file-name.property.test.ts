import path from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  MAX_NAME_BYTES,
  type NameFacts,
  numberedPath,
  promptSlug,
  renderName,
  safeName,
  templateProblem,
} from "../../src/core/images/file-name.ts";
import { COMMAND_VOCABULARY, formatWording } from "../../src/lib/wording.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds } from "../support/holds.ts";

/** Pieces that lead out of a folder, act, are reserved somewhere, or are long in bytes. */
const piece = fc.oneof(
  fc.constantFrom("../", "..\\", "/", "\\", "..", ".", "C:", "~", "-", " ", "%2f", "\u2044", "\uff0f"),
  fc.constantFrom(
    "con",
    "NUL",
    "com1",
    "Lpt9",
    "aux.png",
    "\0",
    "\n",
    "\u001b[2J",
    "\u202e",
    "\u200b",
    "\ud800",
  ),
  fc.constantFrom("fox", "é", "e\u0301", "狐".repeat(40), "🦊".repeat(30), "x".repeat(120), "{slug}", "$&"),
  fc.string({ unit: anyCharacter, maxLength: 6 }),
);
const wild = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(""));
const setting = wild.map((text) => text || "x");
const placeholder = fc.constantFrom(
  ...[
    "{slug}",
    "{model}",
    "{ratio}",
    "{quality}",
    "{seed}",
    "{task}",
    "{index}",
    "{date}",
    "{time}",
    ".{ext}",
    ".PNG",
  ],
);
const template = fc
  .array(fc.oneof(placeholder, piece), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(""))
  .filter((text) => templateProblem(text) === null);
const extension = fc.constantFrom("png", "jpg", "webp", "gif", "avif");
const facts: fc.Arbitrary<NameFacts> = fc
  .tuple(wild, setting, wild, fc.integer({ min: 1, max: 15 }), extension, fc.boolean())
  .map(([prompt, model, taskId, index, extension, known]) => ({
    request: known ? { prompt, model, ratio: model, quality: model } : null,
    taskId,
    index,
    seed: known ? index : null,
    extension,
    date: new Date(2026, 0, 31, 7, 8, 9),
  }));

/** Says what is wrong with a name, for any platform; null if nothing is. */
function flawOf(name: string): string | null {
  if (/[<>:"/\\|?*]/.test(name)) return "a separator, or a character that some system reserves";
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return "a control character";
  if (/^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i.test(name)) return "a reserved name";
  if (/^[.\s-]|[.\s]$/.test(name) || name === "") return "an end that some system cuts off, or a hidden name";
  return Buffer.byteLength(name) > MAX_NAME_BYTES ? "too many bytes" : null;
}

it("a rendered name is one that every platform takes, whatever was asked for and answered", () => {
  holds(
    fc.property(template, facts, (template, facts) => {
      const name = renderName(template, facts);
      expect(flawOf(name)).toBeNull();
      expect(name).toMatch(/\.(png|jpe?g|webp|gif|avif)$/i);
    }),
  );
});

it("a rendered name never leaves its folder", () => {
  holds(
    fc.property(template, facts, (template, facts) => {
      const folder = path.resolve("/pictures");
      expect(path.dirname(path.resolve(folder, renderName(template, facts)))).toBe(folder);
    }),
  );
});

it("numbers keep a rendered name's folder, type and length, and are never equal to one another", () => {
  const number = fc.integer({ min: 1, max: 99_999 });
  holds(
    fc.property(template, facts, number, number, (template, facts, one, other) => {
      const file = path.join("/pictures", renderName(template, facts));
      const numbered = numberedPath(file, one);
      expect(numbered === numberedPath(file, other)).toBe(one === other);
      expect(path.dirname(numbered)).toBe("/pictures");
      expect(path.extname(numbered)).toBe(path.extname(file));
      expect(flawOf(path.basename(numbered))).toBeNull();
    }),
  );
});

it("a name is made safe without a separator, a control character or a reserved name", () => {
  holds(
    fc.property(wild, extension, (text, extension) => {
      expect(flawOf(safeName(`${text}.${extension}`))).toBeNull();
    }),
  );
});

it("a slug is letters, digits and single hyphens between them, and short", () => {
  holds(
    fc.property(fc.oneof(wild, fc.string({ unit: anyCharacter, maxLength: 80 })), (prompt) => {
      const slug = promptSlug(prompt);
      expect(slug).toMatch(/^[\p{L}\p{N}\p{M}]+(-[\p{L}\p{N}\p{M}]+)*$/u);
      expect([...slug].length).toBeLessThanOrEqual(48);
    }),
  );
});

it("a template that is refused says why, and one that is taken holds no way out", () => {
  holds(
    fc.property(fc.array(fc.oneof(placeholder, piece), { maxLength: 4 }), (parts) => {
      const text = parts.join("");
      const problem = templateProblem(text);
      if (/[/\\\p{Cc}]/u.test(text) || text.trim() === "") expect(problem).not.toBeNull();
      if (problem !== null) expect(formatWording(problem, COMMAND_VOCABULARY)).not.toMatch(/\p{Cc}/u);
    }),
  );
});
