import path from "node:path";
import { UsageError } from "../../lib/error-types.ts";
import { withoutInvisible } from "../../lib/escape.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { ANY_EXTENSION } from "../../lib/image/format.ts";
import { hasControlCharacter, isPrintableAscii, lazyRegex } from "../../lib/late-regex.ts";
import { shortTaskId } from "../../lib/short-task-id.ts";
import { option, type Phrase, phrase } from "../../lib/wording.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";

/** The default of `--name`. */
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
/** All placeholders of a template, for help and messages. */
export const PLACEHOLDER_LIST = PLACEHOLDERS.map((name) => `{${name}}`).join(" ");
type Placeholder = (typeof PLACEHOLDERS)[number];

/** The longest file name that common file systems allow, in bytes. */
export const MAX_NAME_BYTES = 255;
// Leaves room for a number (`-12345`), so that a name need not be cut when it is taken.
const NUMBER_BYTES = 6;
const SLUG_CHARACTERS = 48;

export interface NameFacts {
  /** null if only the id of the task is known. */
  request: GenerationRequest | null;
  taskId: string;
  /** 1 for a task's first image. */
  index: number;
  /** null if it is not known. */
  seed: WholeNumber | null;
  /** Without a dot, from the image's bytes. */
  extension: string;
  /** The time for `{date}` and `{time}`, shown in local time. */
  date: Date;
}

/**
 * The problem of a template; null if it is valid.
 * @param takesColumns whether names that are no placeholder stand for columns of a manifest
 */
export function templateProblem(template: string, takesColumns = false): Phrase | string | null {
  if (/[/\\]/.test(template))
    return phrase`must not contain a path separator; ${option("output")} names the folder`;
  if (hasControlCharacter(template)) return "must not contain a control character";
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].find(([, name]) => !isPlaceholder(name ?? ""));
  if (unknown && !takesColumns) return `${unknown[0]} is unknown; the placeholders are ${PLACEHOLDER_LIST}`;
  return template.trim() === "" ? "it is empty" : null;
}

/** @param takesColumns as of `templateProblem` @throws UsageError for a template that is wrong */
export function requireTemplate(template: string | undefined, takesColumns = false): void {
  const problem = template === undefined ? null : templateProblem(template, takesColumns);
  if (problem !== null)
    throw new UsageError(phrase`${option("name")} ${JSON.stringify(template)}: ${problem}.`);
}

export function isPlaceholder(name: string): name is Placeholder {
  return (PLACEHOLDERS as readonly string[]).includes(name);
}

const NAMES_ITS_TYPE = new RegExp(`\\.(?:\\{ext\\}|${ANY_EXTENSION})$`, "i");

/** The file name that a template gives one image: valid on every platform, at most 255 bytes with its extension. */
export function renderName(template: string, facts: NameFacts): string {
  const values = placeholderValues(facts);
  const withExtension = NAMES_ITS_TYPE.test(template) ? template : `${template}.{ext}`;
  const stated = withoutUnset(withExtension, (key) => isPlaceholder(key) && values[key] === "");
  return safeName(stated.replace(/\{(\w+)\}/g, (all, key) => (isPlaceholder(key) ? values[key] : all)));
}

/** Removes placeholders without a value, each with its separator. */
function withoutUnset(template: string, isUnset: (key: string) => boolean): string {
  const stated = template.replace(/[-_ ]?\{(\w+)\}/g, (all, key) => (isUnset(key) ? "" : all));
  return template.startsWith("{") ? stated.replace(/^[-_ ]+/, "") : stated;
}

function placeholderValues({
  request,
  taskId,
  index,
  seed,
  extension,
  date,
}: NameFacts): Record<Placeholder, string> {
  const two = (value: number) => String(value).padStart(2, "0");
  return {
    slug: promptSlug(request?.prompt ?? ""),
    model: request?.model === ANY_MODEL ? "" : (request?.model ?? "model").replaceAll("/", "-"),
    ratio: (request?.ratio ?? "").replaceAll(":", "x"),
    quality: request?.quality ?? "",
    seed: String(seed ?? ""),
    task: shortTaskId(taskId),
    index: String(index),
    date: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    time: `${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`,
    ext: extension,
  };
}

const NO_PART_OF_A_WORD = lazyRegex(String.raw`[^\p{L}\p{N}\p{M}]+`, "gu");

/** The prompt as part of a file name: letters and digits of any script; everything else becomes hyphens. */
export function promptSlug(prompt: string): string {
  const words = withoutInvisible(prompt)
    .normalize("NFC")
    .toLowerCase()
    .replace(isPrintableAscii(prompt) ? /[^a-z0-9]+/g : NO_PART_OF_A_WORD(), "-");
  const cut = [...words.replace(/^-+/, "")].slice(0, SLUG_CHARACTERS).join("");
  return cut.replace(/-+$/, "") || "image";
}

/** An extension is short, so that there is room to cut the name before it. */
const EXTENSION = /\.[^.\s]{1,16}$/;

const CONTROL_OR_FORMAT = lazyRegex(String.raw`[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]`, "gu");

/** A file name that is valid on every platform: no separator, no control character, no reserved name. */
export function safeName(name: string): string {
  const visible = withoutInvisible(name).replace(/[<>:"/\\|?*]/g, "-");
  const clean = withoutTail(isPrintableAscii(visible) ? visible : visible.replace(CONTROL_OR_FORMAT(), "-"));
  const extension = EXTENSION.exec(clean)?.[0] ?? "";
  const stem = clean.slice(0, clean.length - extension.length).replace(/^[.\-\s]+|[.\s]+$/g, "") || "image";
  const free = isReserved(stem) ? `_${stem}` : stem;
  return cutToBytes(free, MAX_NAME_BYTES - NUMBER_BYTES - Buffer.byteLength(extension)) + extension;
}

/** A name without dots and spaces at its end, which some platforms drop. */
function withoutTail(name: string): string {
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

/** `name.png`, `name-2.png`, `name-3.png`: the n-th of equal names, at most 255 bytes, and no two of them the same. */
export function numberedPath(file: string, number: number): string {
  if (number === 1) return file;
  const { dir, base } = path.parse(file);
  const extension = EXTENSION.exec(base)?.[0] ?? "";
  const tail = `-${number}${extension}`;
  const room = MAX_NAME_BYTES - Buffer.byteLength(tail);
  const stem = cutToBytes(base.slice(0, base.length - extension.length), room);
  // The name has the maximum length and ends in this same number.
  const other = `${stem}${tail}` === base ? [...stem].slice(0, -1).join("") : stem;
  return path.join(dir, other + tail);
}

/** Characters that Windows forbids in names. Other platforms allow them. */
const NOT_ON_WINDOWS = /[<>:"|?*]/;

/** Device names on Windows, with any extension. */
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³])\s*(?:\.|$)/i;

/** Reason why a name in a path cannot be used on Windows; null if it can. */
export function portableNameProblem(name: string): string | null {
  const character = NOT_ON_WINDOWS.exec(name)?.[0];
  if (character !== undefined) return `a name cannot contain ${character}, which Windows does not allow`;
  if (hasControlCharacter(name))
    return "a name cannot contain a control character, which Windows does not allow";
  if (/[.\s]$/.test(name)) return "a name cannot end in a dot or a space, which Windows drops";
  return isReserved(name) ? `${JSON.stringify(name)} is a reserved name on Windows` : null;
}

function isReserved(name: string): boolean {
  return RESERVED.test(name);
}

/** The root of a Windows path: `\\?\`, `C:\`, or both. `C:name` has none: it is relative to the drive's current folder. */
const ROOT = /^(?:[/\\]{2}[?.][/\\])?(?:[a-z]:(?=[/\\]|$))?/i;

/** Reason why a path cannot be used on a platform; null if it can. */
export function pathProblem(file: string, platform: NodeJS.Platform): string | null {
  if (platform !== "win32") return null;
  const names = file.replace(ROOT, "").split(/[/\\]/);
  const parts = names.filter((name) => name !== "" && name !== "." && name !== "..");
  return parts.map(portableNameProblem).find((problem) => problem !== null) ?? null;
}
