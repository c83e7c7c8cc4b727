import { isPlain, lateRegex } from "./late-regex.ts";

/**
 * Characters that control a terminal or are invisible: controls (C0, DEL, C1), line and paragraph separators, lone
 * surrogates, and Unicode's default-ignorable characters (bidirectional marks, zero-width characters, fillers,
 * variation selectors, tags). Interlinear annotations lack that property, but act like it.
 */
const HIDDEN = lateRegex(
  String.raw`[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]`,
  "gu",
);

const INVISIBLE = lateRegex(String.raw`[\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]`, "gu");

/** Removes invisible characters, so that texts that look the same are equal. */
export function withoutInvisible(text: string): string {
  return isPlain(text) ? text : text.replace(INVISIBLE(), "");
}

/** The variation selector that only selects the emoji form of a character: ❤️, 1️⃣. */
const EMOJI_STYLE = lateRegex(
  String.raw`(?<=\p{Extended_Pictographic})\u{fe0f}|(?<=[0-9#*])\u{fe0f}(?=\u{20e3})`,
  "uy",
);

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Untrusted text for one line of a terminal: control and invisible characters become escapes. */
export function printable(text: string): string {
  if (isPlain(text)) return text;
  return text.replace(HIDDEN(), (character, at: number) =>
    isEmojiStyle(character, at, text) ? character : visible(character),
  );
}

/**
 * Writes control and invisible characters in JSON as `\uXXXX`; the parsed value is the same. C0 controls stay: inside
 * strings they are already escaped, outside they are indentation.
 */
export function jsonSafe(json: string): string {
  if (isPlain(json)) return json;
  return json.replace(HIDDEN(), (character) => (character < " " ? character : utf16Escapes(character)));
}

function isEmojiStyle(character: string, at: number, text: string): boolean {
  if (character !== "\u{fe0f}") return false;
  const style = EMOJI_STYLE();
  style.lastIndex = at;
  return style.test(text);
}

function visible(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, "0")}`;
}

function utf16Escapes(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
