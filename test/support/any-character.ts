import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

/**
 * Any character of Unicode, the unit of a text for properties. fast-check's own unit "binary" holds the same, but takes
 * each worker half a second to set up.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map(toCharacter, (character) => toNumber(character));

function toCharacter(number: number): string {
  return String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES);
}

/** The number of a character, by which a text that was given as an example can be shrunk. */
function toNumber(character: unknown): number {
  const code = typeof character === "string" ? character.codePointAt(0) : undefined;
  if (code === undefined || toCharacter(code < FIRST_SURROGATE ? code : code - SURROGATES) !== character)
    throw new Error("not one character");
  return code < FIRST_SURROGATE ? code : code - SURROGATES;
}
