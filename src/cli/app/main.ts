import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { userFolders } from "../../client/user-folders.ts";
import { VERSION } from "../../lib/version.ts";
import { FIRST_STEPS } from "../help/bare-program.ts";
import { headingPaint, inColor, loadColors, PLAIN, takesColors } from "../text/colors.ts";
import { plainFileStats } from "../text/fd-stream.ts";
import { enableCompileCache } from "./compile-cache.ts";

export async function main(argv: readonly string[]): Promise<number> {
  if (await printPrebuiltText(argv)) return 0;
  const { env } = process;
  enableCompileCache({ stateFolder: () => userFolders({ env }).state, env, userId: process.geteuid?.() });
  const { runInProcess } = await import("./process-context.ts");
  return runInProcess(argv);
}

const VERSION_ARGUMENTS: ReadonlySet<string | undefined> = new Set(["--version", "-V", "version"]);
const HELP_ARGUMENTS: ReadonlySet<string | undefined> = new Set(["--help", "-h"]);

const PREBUILT_HELP_COLUMNS = 80;

/** Prints prebuilt text without the parser, to save time. Returns false if the whole program must run. */
async function printPrebuiltText(argv: readonly string[]): Promise<boolean> {
  try {
    const text = argv.length <= 1 ? await prebuiltText(argv[0]) : null;
    return text !== null && writeSync(1, text) === Buffer.byteLength(text);
  } catch {
    return false;
  }
}

/** @returns null if no text is prebuilt, or the terminal is too narrow @throws if the file of the help is missing */
async function prebuiltText(word: string | undefined): Promise<string | null> {
  if (VERSION_ARGUMENTS.has(word)) return `${VERSION}\n`;
  if (word !== undefined && !HELP_ARGUMENTS.has(word)) return null;
  const text =
    word === undefined ? `${FIRST_STEPS}\n` : readFileSync(join(import.meta.dirname, "help.txt"), "utf8");
  // Opening `process.stdout` for a file or a pipe takes longer than the write, so it is opened only for a terminal.
  const { isTTY = false, columns } = plainFileStats(1) === null ? process.stdout : {};
  if (columns && columns < PREBUILT_HELP_COLUMNS) return null;
  await loadColors([{ isTTY }], process.env);
  const paint = headingPaint(takesColors({ isTTY }, process.env) ? inColor : PLAIN);
  return text.split("\n").map(paint).join("\n");
}
