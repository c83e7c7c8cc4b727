/** Characters that Windows forbids in names. Other platforms allow them. */
const NOT_ON_WINDOWS = /[<>:"|?*]/;

/** Device names on Windows, with any extension. */
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³])\s*(?:\.|$)/i;

/** Why one name in a path cannot be used on Windows; null if it can. */
export function portableNameProblem(name: string): string | null {
  const character = NOT_ON_WINDOWS.exec(name)?.[0];
  if (character !== undefined) return `a name cannot contain ${character}, which Windows does not allow`;
  if (/\p{Cc}/u.test(name)) return "a name cannot contain a control character, which Windows does not allow";
  if (/[.\s]$/.test(name)) return "a name cannot end in a dot or a space, which Windows drops";
  return isReserved(name) ? `${JSON.stringify(name)} is a reserved name on Windows` : null;
}

/** Whether a name is a device name on Windows. */
export function isReserved(name: string): boolean {
  return RESERVED.test(name);
}

/** The root of a Windows path: `\\?\`, `C:\`, or both. `C:name` has none: it is relative to the drive's current folder. */
const ROOT = /^(?:[/\\]{2}[?.][/\\])?(?:[a-z]:(?=[/\\]|$))?/i;

/** Why a path cannot be used on a platform; null if it can. */
export function pathProblem(file: string, platform: NodeJS.Platform): string | null {
  if (platform !== "win32") return null;
  const names = file.replace(ROOT, "").split(/[/\\]/);
  const named = names.filter((name) => name !== "" && name !== "." && name !== "..");
  return named.map(portableNameProblem).find((problem) => problem !== null) ?? null;
}
