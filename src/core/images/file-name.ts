import path from "node:path";
import { UsageError } from "../../lib/error-types.ts";
import { withoutInvisible } from "../../lib/escape.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { ANY_EXTENSION } from "../../lib/image/format.ts";
import { hasControlCharacter, isPrintableAscii, lazyRegex } from "../../lib/late-regex.ts";
import { shortTaskId } from "../../lib/short-task-id.ts";
import { option, type Phrase, phrase } from "../../lib/wording.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";

export const DEFAULT_TEMPLATE = "{slug}-{task}.{ext}";

const PLACEHOLDERS = [
  "slug",
  "model",
  "ratio",
  "quality",
  "seed",
  "task",
  "index",
  "date",
  "time",
  "ext",
] as const;
export const PLACEHOLDER_LIST = PLACEHOLDERS.map((name) => `{${name}}`).join(" ");
type Placeholder = (typeof PLACEHOLDERS)[number];

/** Maximum length of a file name on common file systems, in bytes. */
export const MAX_NAME_BYTES = 255;
// Bytes reserved for a number such as `-12345`, which is appended if the name is taken.
const NUMBER_BYTES = 6;
const SLUG_CHARACTERS = 48;

export interface NameFacts {
  /** null if unknown. */
  request: GenerationRequest | null;
  taskId: string;
  /** Number of the image in its task, from 1. */
  index: number;
  seed: WholeNumber | null;
  /** File name extension without a dot. */
  extension: string;
  /** Time of the submit; `{date}` and `{time}` show it in local time. */
  date: Date;
}

/**
 * Returns the reason why a template is invalid, or null. With `takesColumns`, manifest columns are placeholders too.
 */
export function templateProblem(template: string, takesColumns = false): Phrase | string | null {
  if (/[/\\]/.test(template))
    return phrase`must not contain a path separator; ${option("output")} names the folder`;
  if (hasControlCharacter(template)) return "must not contain a control character";
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].find(([, name]) => !isPlaceholder(name ?? ""));
  if (unknown && !takesColumns) return `${unknown[0]} is unknown; the placeholders are ${PLACEHOLDER_LIST}`;
  return template.trim() === "" ? "must not be empty" : null;
}

/** @throws UsageError for an invalid template */
export function requireTemplate(template: string | undefined, takesColumns = false): void {
  const problem = template === undefined ? null : templateProblem(template, takesColumns);
  if (problem !== null)
    throw new UsageError(phrase`${option("name")} ${JSON.stringify(template)}: ${problem}.`);
}

export function isPlaceholder(name: string): name is Placeholder {
  return (PLACEHOLDERS as readonly string[]).includes(name);
}

const HAS_EXTENSION = new RegExp(`\\.(?:\\{ext\\}|${ANY_EXTENSION})$`, "i");

/** Returns the file name of an image, valid on every platform and at most 255 bytes long. */
export function renderName(template: string, facts: NameFacts): string {
  const values = placeholderValues(facts);
  const withExtension = HAS_EXTENSION.test(template) ? template : `${template}.{ext}`;
  const reducedTemplate = removeUnset(withExtension, (key) => isPlaceholder(key) && values[key] === "");
  return safeName(
    reducedTemplate.replace(/\{(\w+)\}/g, (all, key) => (isPlaceholder(key) ? values[key] : all)),
  );
}

/** Removes each placeholder that has no value, together with the separator before it. */
function removeUnset(template: string, isUnset: (key: string) => boolean): string {
  const reducedTemplate = template.replace(/[-_ ]?\{(\w+)\}/g, (all, key) => (isUnset(key) ? "" : all));
  return template.startsWith("{") ? reducedTemplate.replace(/^[-_ ]+/, "") : reducedTemplate;
}

function placeholderValues({
  request,
  taskId,
  index,
  seed,
  extension,
  date,
}: NameFacts): Record<Placeholder, string> {
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  return {
    slug: promptSlug(request?.prompt ?? ""),
    model: request?.model === ANY_MODEL ? "" : (request?.model ?? "model").replaceAll("/", "-"),
    ratio: (request?.ratio ?? "").replaceAll(":", "x"),
    quality: request?.quality ?? "",
    seed: String(seed ?? ""),
    task: shortTaskId(taskId),
    index: String(index),
    date: `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`,
    time: `${twoDigits(date.getHours())}${twoDigits(date.getMinutes())}${twoDigits(date.getSeconds())}`,
    ext: extension,
  };
}

const NON_WORD = lazyRegex(String.raw`[^\p{L}\p{N}\p{M}]+`, "gu");

/** Converts a prompt to part of a file name. Characters other than letters and digits of any script become hyphens. */
export function promptSlug(prompt: string): string {
  const words = withoutInvisible(prompt)
    .normalize("NFC")
    .toLowerCase()
    .replace(isPrintableAscii(prompt) ? /[^a-z0-9]+/g : NON_WORD(), "-");
  const cut = [...words.replace(/^-+/, "")].slice(0, SLUG_CHARACTERS).join("");
  return cut.replace(/-+$/, "") || "image";
}

/** Extension of a file name. Its length is limited, because a long file name is cut only before its extension. */
const EXTENSION = /\.[^.\s]{1,16}$/;

const CONTROL_OR_FORMAT = lazyRegex(String.raw`[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]`, "gu");

export function safeName(name: string): string {
  const visible = withoutInvisible(name).replace(/[<>:"/\\|?*]/g, "-");
  const clean = trimTail(isPrintableAscii(visible) ? visible : visible.replace(CONTROL_OR_FORMAT(), "-"));
  const extension = EXTENSION.exec(clean)?.[0] ?? "";
  const stem = clean.slice(0, clean.length - extension.length).replace(/^[.\-\s]+|[.\s]+$/g, "") || "image";
  const allowedStem = isReserved(stem) ? `_${stem}` : stem;
  return cutToBytes(allowedStem, MAX_NAME_BYTES - NUMBER_BYTES - Buffer.byteLength(extension)) + extension;
}

/** Removes dots and spaces at the end of a name, because Windows would remove them too. */
function trimTail(name: string): string {
  let end = name.length;
  while (end > 0 && /[.\s]/.test(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
}

function cutToBytes(text: string, bytes: number): string {
  let cut = "";
  let length = 0;
  for (const character of text) {
    length += Buffer.byteLength(character);
    if (length > bytes) break;
    cut += character;
  }
  return cut;
}

/** Returns the n-th path for a name (`name.png`, `name-2.png`). All names differ and have at most 255 bytes. */
export function numberedPath(file: string, number: number): string {
  if (number === 1) return file;
  const { dir, base } = path.parse(file);
  const extension = EXTENSION.exec(base)?.[0] ?? "";
  const tail = `-${number}${extension}`;
  const room = MAX_NAME_BYTES - Buffer.byteLength(tail);
  const stem = cutToBytes(base.slice(0, base.length - extension.length), room);
  // A name of maximum length that already ends in this number would be unchanged, so it loses one more character.
  const distinctStem = `${stem}${tail}` === base ? [...stem].slice(0, -1).join("") : stem;
  return path.join(dir, distinctStem + tail);
}

const FORBIDDEN_ON_WINDOWS = /[<>:"|?*]/;

/** Names that Windows reserves for devices, with any extension or none. */
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³])\s*(?:\.|$)/i;

/** Returns the reason why Windows does not allow a name, or null. */
export function portableNameProblem(name: string): string | null {
  const character = FORBIDDEN_ON_WINDOWS.exec(name)?.[0];
  if (character !== undefined) return `a name cannot contain ${character}, which Windows does not allow`;
  if (hasControlCharacter(name))
    return "a name cannot contain a control character, which Windows does not allow";
  if (/[.\s]$/.test(name)) return "a name cannot end in a dot or a space, which Windows drops";
  return isReserved(name) ? `${JSON.stringify(name)} is a reserved name on Windows` : null;
}

function isReserved(name: string): boolean {
  return RESERVED.test(name);
}

/** The root of a Windows path: `\\?\`, `C:\`, or both. `C:name` has no root, because it is relative. */
const ROOT = /^(?:[/\\]{2}[?.][/\\])?(?:[a-z]:(?=[/\\]|$))?/i;

/** Returns the reason why a platform does not allow a path, or null. */
export function pathProblem(file: string, platform: NodeJS.Platform): string | null {
  if (platform !== "win32") return null;
  const names = file.replace(ROOT, "").split(/[/\\]/);
  const parts = names.filter((name) => name !== "" && name !== "." && name !== "..");
  return parts.map(portableNameProblem).find((problem) => problem !== null) ?? null;
}
