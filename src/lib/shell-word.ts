import { platform } from "node:os";
import { escapeControls } from "./escape.ts";

/** Quotes a text as one word for the platform's shell, safe to print on a terminal. */
export function shellWord(text: string, onPlatform: NodeJS.Platform = platform()): string {
  return onPlatform === "win32" ? windowsWord(text) : posixWord(text);
}

function posixWord(text: string): string {
  if (/^[\w.:@%+=,/-]+$/.test(text)) return text;
  if (escapeControls(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`;
  // Escapes control characters with the quotes of bash and zsh.
  const spelled = Array.from(text, (character) => {
    if (/[\\']/.test(character)) return `\\${character}`;
    if (escapeControls(character) === character) return character;
    return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;
  });
  return `$'${spelled.join("")}'`;
}

const PLAIN_ON_WINDOWS = /^(?:-{0,2}\w[\w-]*|[\w\\/][\w.:\\/-]*)$/;

/** Characters that end a quoted text in PowerShell or are expanded in it. Curly quotes count as quotes. */
const ACTIVE_IN_POWERSHELL = /[$`\u201c\u201d\u201e]/;

/** Uses double quotes, which cmd and PowerShell share, and PowerShell's escapes. cmd has no escape for `%NAME%`. */
function windowsWord(text: string): string {
  if (PLAIN_ON_WINDOWS.test(text)) return text;
  const quoted = Array.from(text, (character) => {
    if (character === '"') return '""';
    if (ACTIVE_IN_POWERSHELL.test(character)) return `\`${character}`;
    if (escapeControls(character) === character) return character;
    return `\`u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
  // A backslash before the closing quote would escape it.
  return `"${quoted.join("").replace(/\\+$/, "$&$&")}"`;
}
