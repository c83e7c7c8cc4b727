import stringWidth from "string-width";
import { printable } from "../../lib/escape.ts";

/**
 * The lines of a table: rows under headings, in columns as wide as their cells are once they are escaped, so that no
 * cell breaks a line.
 */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const safe = rows.map((row) => row.map(printable));
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...safe.map((row) => stringWidth(row[at] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell + " ".repeat(Math.max(0, (widths[at] ?? 0) - stringWidth(cell))))
      .join("  ")
      .trimEnd();
  return [headings, ...safe].map(line);
}
