import { isPrintableAscii, lazyRegex } from "./late-regex.ts";

/** Characters that control a terminal or are invisible. U+FFF9 to U+FFFB mark interlinear annotations. */
const HIDDEN_CHARACTERS = lazyRegex(
  String.raw`[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]`,
  "gu",
);

const INVISIBLE_CHARACTERS = lazyRegex(String.raw`[\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]`, "gu");

/** Removes invisible characters, so that texts that look equal are equal. */
export function withoutInvisible(text: string): string {
  return isPrintableAscii(text) ? text : text.replace(INVISIBLE_CHARACTERS(), "");
}

/** Variation selector of an emoji such as ❤️ or 1️⃣. */
const EMOJI_STYLE = lazyRegex(
  String.raw`(?<=\p{Extended_Pictographic})\u{fe0f}|(?<=[0-9#*])\u{fe0f}(?=\u{20e3})`,
  "uy",
);

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Escapes control and invisible characters of untrusted text, for one line of a terminal. */
export function escapeControls(text: string): string {
  if (isPrintableAscii(text)) return text;
  return text.replace(HIDDEN_CHARACTERS(), (character, at: number) =>
    isEmojiStyle(character, at, text) ? character : escapeCharacter(character),
  );
}

/** Escapes hidden characters in JSON text but keeps its value. C0 controls stay, because they are only indentation. */
export function escapeJson(json: string): string {
  if (isPrintableAscii(json)) return json;
  return json.replace(HIDDEN_CHARACTERS(), (character) =>
    character < " " ? character : utf16Escapes(character),
  );
}

function isEmojiStyle(character: string, at: number, text: string): boolean {
  if (character !== "\u{fe0f}") return false;
  const style = EMOJI_STYLE();
  style.lastIndex = at;
  return style.test(text);
}

function escapeCharacter(character: string): string {
  const short = SHORT_ESCAPES[character];
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
