import { printable } from "../lib/escape.ts";

/** A text as one word of a shell's command line, harmless on a terminal. */
export function shellWord(text: string): string {
  if (/^[\w.:@%+=,/-]+$/.test(text)) return text;
  if (printable(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`;
  // What a terminal must not be shown is spelled out, in the quotes that bash and zsh read such spellings in.
  const spelled = Array.from(text, (character) => {
    if (/[\\']/.test(character)) return `\\${character}`;
    if (printable(character) === character) return character;
    return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;
  });
  return `$'${spelled.join("")}'`;
}
