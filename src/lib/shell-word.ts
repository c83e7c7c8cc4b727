import { platform } from "node:os";
import { printable } from "./escape.ts";

/** A text as one word of a command line for the platform's shell, harmless on a terminal. */
export function shellWord(text: string, onPlatform: NodeJS.Platform = platform()): string {
  return onPlatform === "win32" ? windowsWord(text) : posixWord(text);
}

function posixWord(text: string): string {
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

/** What neither cmd nor PowerShell reads anything into, wherever it stands. */
const PLAIN_ON_WINDOWS = /^(?:-{0,2}\w[\w-]*|[\w\\/][\w.:\\/-]*)$/;

/** What ends a text in double quotes in PowerShell, or is replaced there: it also takes curly quotes for quotes. */
const ACTIVE_IN_POWERSHELL = /[$`\u201c\u201d\u201e]/;

/**
 * In double quotes, which cmd and PowerShell share. What PowerShell would act on in them is escaped for it; in cmd
 * its backtick then stands in the text, and `%NAME%` is replaced there: it has no escape for that.
 */
function windowsWord(text: string): string {
  if (PLAIN_ON_WINDOWS.test(text)) return text;
  const quoted = Array.from(text, (character) => {
    if (character === '"') return '""';
    if (ACTIVE_IN_POWERSHELL.test(character)) return `\`${character}`;
    if (printable(character) === character) return character;
    return `\`u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
  // Backslashes before the closing quote would make it a quote of the text.
  return `"${quoted.join("").replace(/\\+$/, "$&$&")}"`;
}
