import { readFileSync } from "node:fs";
import path from "node:path";
import type { OutputStream } from "../output/output-stream.ts";

/**
 * The program's help for a pipe, as the build wrote it: reading it is faster than building the command tree.
 * @returns null for a terminal, whose width the help is laid out for, or if nothing was built
 */
export function writtenHelp({ isTTY, columns }: OutputStream): string[] | null {
  if (isTTY || columns) return null;
  try {
    return readFileSync(path.join(import.meta.dirname, "help.txt"), "utf8")
      .trimEnd()
      .split("\n");
  } catch {
    return null;
  }
}
