import { readFileSync } from "node:fs";
import path from "node:path";
import type { OutputStream } from "../output/output-stream.ts";

/**
 * The program's help as a pipe gets it, which the build writes: most of the time that the help takes would go to
 * building the commands, to describe them. null where it has to be laid out, or nothing was built.
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
