import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { userFolders } from "../../client/user-folders.ts";
import { VERSION } from "../../lib/version.ts";
import { FIRST_STEPS } from "../help/bare-program.ts";
import { headingPaint, inColor, loadColors, PLAIN, takesColors } from "../text/colors.ts";
import { plainKind } from "../text/fd-stream.ts";
import { enableCompileCache } from "./compile-cache.ts";

/** The whole program: arguments in, exit code out. */
export async function main(argv: readonly string[]): Promise<number> {
  if (await isAnsweredAtOnce(argv)) return 0;
  const { env } = process;
  enableCompileCache({ stateFolder: () => userFolders({ env }).state, env, userId: process.geteuid?.() });
  const { runInProcess } = await import("./process-context.ts");
  return runInProcess(argv);
}

const VERSION_WORDS: ReadonlySet<string | undefined> = new Set(["--version", "-V", "version"]);
const HELP_WORDS: ReadonlySet<string | undefined> = new Set(["--help", "-h"]);

/** Width of the help that the build writes. */
const WRITTEN_COLUMNS = 80;

/**
 * Prints the version, the first steps, or the help as the build wrote it: scripts ask for the one alone, and people for the
 * others first, and none needs a parser. A partial write is left to the program, which can wait and report.
 */
async function isAnsweredAtOnce(argv: readonly string[]): Promise<boolean> {
  try {
    const text = argv.length <= 1 ? await immediateText(argv[0]) : null;
    return text !== null && writeSync(1, text) === Buffer.byteLength(text);
  } catch {
    return false;
  }
}

/** @returns null for everything else, and for help on a terminal that is narrower @throws if nothing was built */
async function immediateText(word: string | undefined): Promise<string | null> {
  if (VERSION_WORDS.has(word)) return `${VERSION}\n`;
  if (word !== undefined && !HELP_WORDS.has(word)) return null;
  const text =
    word === undefined ? `${FIRST_STEPS}\n` : readFileSync(join(import.meta.dirname, "help.txt"), "utf8");
  // Node takes longer to open a stream than to write to a file or a pipe.
  const { isTTY = false, columns } = plainKind(1) === null ? process.stdout : {};
  if (columns && columns < WRITTEN_COLUMNS) return null;
  await loadColors([{ isTTY }], process.env);
  const paint = headingPaint(takesColors({ isTTY }, process.env) ? inColor : PLAIN);
  return text.split("\n").map(paint).join("\n");
}
