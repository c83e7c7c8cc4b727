import stringWidth from "string-width";
import { printable } from "../lib/escape.ts";

/** Rows under headings, in columns as wide as they need. All cells are made safe for a terminal. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  bold: (text: string) => string,
) {
  const safe = rows.map((row) => row.map(printable));
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...safe.map((row) => stringWidth(row[at] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell + " ".repeat(Math.max(0, (widths[at] ?? 0) - stringWidth(cell))))
      .join("  ")
      .trimEnd();
  return [bold(line(headings)), ...safe.map(line)].join("\n");
}
