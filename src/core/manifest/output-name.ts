import path from "node:path";
import { ANY_EXTENSION, MAX_EXTENSION } from "../../lib/image/format.ts";
import { MAX_NAME_BYTES, portableNameProblem } from "../images/file-name.ts";
import { quote } from "./entry.ts";

/** Maximum length of an output name, in bytes, because platforms limit the length of the whole path. */
const MAX_OUTPUT_BYTES = 768;

/** Invisible characters, except the joiners that some scripts and many emoji need. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

/** Returns the problem of a path, or null. A valid path is below the output folder on every platform. */
export function outputNameProblem(name: string): string | null {
  if (name.trim() === "") return "it is empty";
  if (INVISIBLE.test(name)) return "a name must not contain control or invisible characters";
  if (name.includes("\\")) return "use / between folders, not a backslash";
  if (/^(?:~?\/|~$|[a-z]:)/i.test(name)) return "it must be a name below the output folder";
  if (name.endsWith("/")) return "it is a folder, not a file";
  if (Buffer.byteLength(name) > MAX_OUTPUT_BYTES) return `it is longer than ${MAX_OUTPUT_BYTES} bytes`;
  const steps = name.split("/");
  return steps.map(segmentProblem).find((problem) => problem !== null) ?? lengthProblem(steps);
}

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

/** In upper case, because names are compared in upper case. */
const IMAGE_EXTENSION = new RegExp(`\\.(?:${ANY_EXTENSION.toUpperCase()})$`);

/**
 * Finds rows that would write to the same file. Case and Unicode form are ignored, as on macOS and Windows. A name
 * without an extension gets one when it is saved, so it conflicts with all extensions.
 */
export class OutputNames {
  /** First line that writes each file. A file without an extension is stored as `name.*`. */
  readonly #files = new Map<string, number>();
  readonly #folders = new Map<string, number>();
  /** First line of each file or folder that has an image extension, which is stored as `name.*`. */
  readonly #typed = new Map<string, number>();

  /** @returns the conflict with an earlier line, or null */
  add(line: number, output: string): string | null {
    const name = toComparable(output);
    const folders = parentFolders(name);
    const other = [this.#findConflictingLine(name), ...folders.map((folder) => this.#fileAt(folder))].find(
      isLine,
    );
    if (other !== undefined)
      return `output ${quote(output)} conflicts with the output of line ${other}; each row needs its own file`;
    this.#store(name, folders, line);
    return null;
  }

  #findConflictingLine(name: string): number | undefined {
    if (!hasNoExtension(name)) return this.#fileAt(name) ?? this.#folders.get(name);
    return this.#files.get(`${name}.*`) ?? this.#typed.get(`${name}.*`);
  }

  /** Returns the line whose file has a path, or might get the path when an extension is added. */
  #fileAt(filePath: string): number | undefined {
    return this.#files.get(filePath) ?? this.#files.get(withAnyExtension(filePath));
  }

  #store(name: string, folders: readonly string[], line: number): void {
    this.#files.set(hasNoExtension(name) ? `${name}.*` : name, line);
    for (const folder of folders) setIfAbsent(this.#folders, folder, line);
    for (const filePath of [name, ...folders])
      if (IMAGE_EXTENSION.test(filePath)) setIfAbsent(this.#typed, withAnyExtension(filePath), line);
  }
}

function hasNoExtension(name: string): boolean {
  return path.posix.extname(name) === "";
}

/** Returns `a/fox.*` for `a/fox.png`; a name without an image extension is unchanged. */
function withAnyExtension(name: string): string {
  return hasNoExtension(name) ? name : name.replace(IMAGE_EXTENSION, ".*");
}

/** Returns `a` and `a/b` for `a/b/c`. */
function parentFolders(name: string): string[] {
  const steps = name.split("/").slice(0, -1);
  return steps.map((_, index) => steps.slice(0, index + 1).join("/"));
}

/** Converts a name to upper case, because the two Greek small sigmas differ only in lower case. */
function toComparable(name: string): string {
  return name.toLowerCase().toUpperCase().normalize("NFC");
}

function setIfAbsent(lines: Map<string, number>, name: string, line: number): void {
  if (!lines.has(name)) lines.set(name, line);
}

function isLine(line: number | undefined): line is number {
  return line !== undefined;
}
