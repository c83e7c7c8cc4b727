import { platform } from "node:os";
import { escapeControls } from "./escape.ts";

/** Quotes a text as one word for the platform's shell. The result is safe to print on a terminal. */
export function shellWord(text: string, osName: NodeJS.Platform = platform()): string {
  return osName === "win32" ? windowsWord(text) : posixWord(text);
}

function posixWord(text: string): string {
  if (/^[\w.:@%+=,/-]+$/.test(text)) return text;
  if (escapeControls(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`;
  // Uses the `$'…'` quotes of bash and zsh, because other quotes cannot escape control characters.
  const escaped = Array.from(text, (character) => {
    if (/[\\']/.test(character)) return `\\${character}`;
    if (escapeControls(character) === character) return character;
    return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;
  });
  return `$'${escaped.join("")}'`;
}

const PLAIN_ON_WINDOWS = /^(?:-{0,2}\w[\w-]*|[\w\\/][\w.:\\/-]*)$/;

/** Characters that PowerShell expands inside quotes, or that end the quotes. Curly quotes end them too. */
const ACTIVE_IN_POWERSHELL = /[$`\u201c\u201d\u201e]/;

/** Uses double quotes, which cmd and PowerShell share, and PowerShell's escapes. cmd still expands `%NAME%`. */
function windowsWord(text: string): string {
  if (PLAIN_ON_WINDOWS.test(text)) return text;
  const quoted = Array.from(text, (character) => {
    if (character === '"') return '""';
    if (ACTIVE_IN_POWERSHELL.test(character)) return `\`${character}`;
    if (escapeControls(character) === character) return character;
    return `\`u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
  // Doubles final backslashes, because a single backslash would escape the closing quote.
  return `"${quoted.join("").replace(/\\+$/, "$&$&")}"`;
}
