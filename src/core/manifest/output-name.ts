import path from "node:path";
import { ANY_EXTENSION, MAX_EXTENSION } from "../../lib/image/format.ts";
import { MAX_NAME_BYTES, portableNameProblem } from "../images/file-name.ts";
import { quote } from "./entry.ts";

/** Shorter than every platform's limit for a path, because the output folder's path comes first. */
const MAX_OUTPUT_BYTES = 768;

/** Invisible characters, except the joiners that some scripts and many emoji need. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

/**
 * Returns the problem of a row's `output` as a path below the output folder on every platform, or null. Folders are separated
 * by `/`. No accepted path is outside the output folder.
 */
export function outputNameProblem(name: string): string | null {
  if (name.trim() === "") return "it is empty";
  if (INVISIBLE.test(name)) return "a name must not contain control or invisible characters";
  if (name.includes("\\")) return "use / between folders, not a backslash";
  if (/^(?:~?\/|~$|[a-z]:)/i.test(name)) return "it must be a name below the output folder";
  if (name.endsWith("/")) return "it is a folder, and a file's name is needed";
  if (Buffer.byteLength(name) > MAX_OUTPUT_BYTES) return `it is longer than ${MAX_OUTPUT_BYTES} bytes`;
  const steps = name.split("/");
  return steps.map(segmentProblem).find((problem) => problem !== null) ?? lengthProblem(steps);
}

/** The problem of one folder name or of the file name. */
function segmentProblem(step: string): string | null {
  if (step === "..") return "it must not leave the output folder";
  if (step === "." || step === "") return `it has an empty or "." folder in its path`;
  return portableNameProblem(step);
}

function lengthProblem(steps: readonly string[]): string | null {
  const file = steps.at(-1) ?? "";
  const fullName = path.posix.extname(file) === "" ? `${file}${MAX_EXTENSION}` : file;
  const tooLong = [...steps.slice(0, -1), fullName].some((step) => Buffer.byteLength(step) > MAX_NAME_BYTES);
  return tooLong ? `a name is longer than ${MAX_NAME_BYTES} bytes` : null;
}

/** Matches capitals, because names are compared in capitals. */
const IMAGE_EXTENSION = new RegExp(`\\.(?:${ANY_EXTENSION.toUpperCase()})$`);

/**
 * Ensures that no two rows write to one file. Names are compared like file systems of macOS and Windows do, ignoring case and
 * Unicode form. A name without an extension may get any image extension.
 */
export class OutputNames {
  /** The first line of each file. One without an extension is kept as `name.*`, which is not a valid name. */
  readonly #files = new Map<string, number>();
  readonly #folders = new Map<string, number>();
  /** Files and folders, as `name.*`, that a name without an extension could become. */
  readonly #typed = new Map<string, number>();

  /** Adds the name of a line. @returns the problem if it conflicts with an earlier line; then it is not added */
  add(line: number, output: string): string | null {
    const name = toComparable(output);
    const folders = parentFolders(name);
    const other = [this.#inWayOfFile(name), ...folders.map((folder) => this.#fileAt(folder))].find(isLine);
    if (other !== undefined)
      return `output ${quote(output)} conflicts with the output of line ${other}; each row needs its own file`;
    this.#keep(name, folders, line);
    return null;
  }

  #inWayOfFile(name: string): number | undefined {
    if (!hasNoExtension(name)) return this.#fileAt(name) ?? this.#folders.get(name);
    return this.#files.get(`${name}.*`) ?? this.#typed.get(`${name}.*`);
  }

  /** Line whose file has exactly this path, or may get it. */
  #fileAt(filePath: string): number | undefined {
    return this.#files.get(filePath) ?? this.#files.get(withAnyExtension(filePath));
  }

  #keep(name: string, folders: readonly string[], line: number): void {
    this.#files.set(hasNoExtension(name) ? `${name}.*` : name, line);
    for (const folder of folders) setIfAbsent(this.#folders, folder, line);
    for (const filePath of [name, ...folders])
      if (IMAGE_EXTENSION.test(filePath)) setIfAbsent(this.#typed, withAnyExtension(filePath), line);
  }
}

function hasNoExtension(name: string): boolean {
  return path.posix.extname(name) === "";
}

/** `a/fox.*` for `a/fox.png`; a name without an image extension is unchanged. */
function withAnyExtension(name: string): string {
  return hasNoExtension(name) ? name : name.replace(IMAGE_EXTENSION, ".*");
}

/** `a` and `a/b` for `a/b/c`. */
function parentFolders(name: string): string[] {
  const steps = name.split("/").slice(0, -1);
  return steps.map((_, index) => steps.slice(0, index + 1).join("/"));
}

/** Compared in capitals, because the two Greek small sigmas share one capital. */
function toComparable(name: string): string {
  return name.toLowerCase().toUpperCase().normalize("NFC");
}

function setIfAbsent(lines: Map<string, number>, name: string, line: number): void {
  if (!lines.has(name)) lines.set(name, line);
}

function isLine(line: number | undefined): line is number {
  return line !== undefined;
}
