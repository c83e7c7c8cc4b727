import fc from "fast-check";
import { anyCharacter } from "./any-character.ts";

/**
 * Characters that act on a terminal or cannot be seen, first and last of each range. Written out by number,
 * apart from the Unicode properties that the code relies on.
 */
const ACTIVE: ReadonlyArray<readonly [first: number, last: number]> = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0e],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

/** Whether a text can be written to a terminal's line and is all that is seen there. */
export function isInert(text: string): boolean {
  return [...text].every((character) => {
    const code = character.codePointAt(0) as number;
    return !ACTIVE.some(([first, last]) => code >= first && code <= last);
  });
}

const activeCharacter = fc
  .constantFrom(...ACTIVE)
  .chain(([first, last]) => fc.integer({ min: first, max: last }))
  .map((code) => String.fromCodePoint(code));

/** Text full of such characters. */
export const nastyText = fc
  .array(
    fc.oneof(
      activeCharacter,
      fc.string({ unit: anyCharacter, maxLength: 3 }),
      fc.constantFrom("❤", "\ufe0f", "1"),
    ),
  )
  .map((parts) => parts.join(""));
