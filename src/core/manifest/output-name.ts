import path from "node:path";
import { LONGEST_NAME_BYTES } from "../images/file-name.ts";
import { portableNameProblem } from "../images/portable-name.ts";
import { quoted } from "./quoted.ts";

/** Short of what any platform takes for a whole path, as the output folder comes before it. */
const LONGEST_OUTPUT_BYTES = 768;

/** An extension that a name may still get, once the image's type is known. */
const LONGEST_EXTENSION = ".avif";

/** Joiners, which some scripts and many emoji need, are the invisible characters that may stay. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

/**
 * Why a row's `output` cannot be a name below the output folder on every platform, in words; null where it
 * can. Folders in it are parted by `/`. Nothing that is accepted leads out of the output folder.
 */
export function outputNameProblem(name: string): string | null {
  if (name.trim() === "") return "it is empty";
  if (INVISIBLE.test(name)) return "a name holds no control or invisible character";
  if (name.includes("\\")) return "use / between folders, not a backslash";
  if (name.startsWith("/") || /^[a-z]:/i.test(name)) return "it must be a name below the output folder";
  if (name.endsWith("/")) return "it is a folder, and a file's name is needed";
  if (Buffer.byteLength(name) > LONGEST_OUTPUT_BYTES)
    return `it is longer than ${LONGEST_OUTPUT_BYTES} bytes`;
  const steps = name.split("/");
  return steps.map(stepProblem).find((problem) => problem !== null) ?? lengthProblem(steps);
}

/** What is wrong with one folder or with the file itself. */
function stepProblem(step: string): string | null {
  if (step === "..") return "it must not leave the output folder";
  if (step === "." || step === "") return `it has a step that leads nowhere (${quoted(step)})`;
  return portableNameProblem(step);
}

function lengthProblem(steps: readonly string[]): string | null {
  const file = steps.at(-1) ?? "";
  const whole = path.posix.extname(file) === "" ? `${file}${LONGEST_EXTENSION}` : file;
  const tooLong = [...steps.slice(0, -1), whole].some((step) => Buffer.byteLength(step) > LONGEST_NAME_BYTES);
  return tooLong ? `a name is longer than ${LONGEST_NAME_BYTES} bytes` : null;
}

/** In capitals, as names are compared. */
const IMAGE_EXTENSION = /\.(?:PNG|JPE?G|WEBP|GIF|AVIF)$/;

/**
 * The rows' output names, so that no two rows end in one file. Names are compared as the file systems of macOS
 * and Windows do, in any case and Unicode form; a name without an extension may yet get any image's.
 */
export class OutputNames {
  /** The first line of each file; one that has no extension yet is kept as `name.*`, which no name can be. */
  readonly #files = new Map<string, number>();
  readonly #folders = new Map<string, number>();
  /** As `name.*`, the files and folders that one without an extension could become. */
  readonly #typed = new Map<string, number>();

  /** Takes a name for a line. Where an earlier line is in the way, says so in words and takes nothing. */
  add(line: number, output: string): string | null {
    const name = folded(output);
    const folders = foldersOf(name);
    const other = [this.#inWayOfFile(name), ...folders.map((folder) => this.#fileAt(folder))].find(isLine);
    if (other !== undefined)
      return `output ${quoted(output)} would be in the way of that of line ${other}; each row needs its own`;
    this.#keep(name, folders, line);
    return null;
  }

  #inWayOfFile(name: string): number | undefined {
    if (!isBare(name)) return this.#fileAt(name) ?? this.#folders.get(name);
    return this.#files.get(`${name}.*`) ?? this.#typed.get(`${name}.*`);
  }

  /** The line whose file has exactly this path, or may come to have it. */
  #fileAt(place: string): number | undefined {
    return this.#files.get(place) ?? this.#files.get(anyType(place));
  }

  #keep(name: string, folders: readonly string[], line: number): void {
    this.#files.set(isBare(name) ? `${name}.*` : name, line);
    for (const folder of folders) keepFirst(this.#folders, folder, line);
    for (const place of [name, ...folders])
      if (IMAGE_EXTENSION.test(place)) keepFirst(this.#typed, anyType(place), line);
  }
}

function isBare(name: string): boolean {
  return path.posix.extname(name) === "";
}

/** `a/fox.*` for `a/fox.png`; what is no image's name stays as it is. */
function anyType(name: string): string {
  return isBare(name) ? name : name.replace(IMAGE_EXTENSION, ".*");
}

/** `a` and `a/b` for `a/b/c`. */
function foldersOf(name: string): string[] {
  const steps = name.split("/").slice(0, -1);
  return steps.map((_, index) => steps.slice(0, index + 1).join("/"));
}

/** Lower case alone would keep the two small sigmas apart, which have one capital. */
function folded(name: string): string {
  return name.toLowerCase().toUpperCase().normalize("NFC");
}

function keepFirst(lines: Map<string, number>, name: string, line: number): void {
  if (!lines.has(name)) lines.set(name, line);
}

function isLine(line: number | undefined): line is number {
  return line !== undefined;
}
