import type { Session } from "../app/session.ts";
import type { TextStyleName } from "./colors.ts";
import { BETWEEN, layOut, type TableCell, type TableColumn } from "./table-layout.ts";
import { roomOn } from "./wrap.ts";

/** The style that a cell's text is shown in, without its padding; null for none. */
export type CellStyle = (cell: string, column: TableColumn) => TextStyleName | null;

/**
 * Prints a table on standard output: fitted to a terminal, whole in a pipe or a file.
 * @returns the columns that were left out for lack of room
 */
export async function showTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly TableCell[])[],
  session: Pick<Session, "console" | "context">,
  styleOf: CellStyle = () => null,
): Promise<TableColumn[]> {
  const { lines, leftOut } = layOut(columns, rows, roomOn(session.context.stdout));
  const style = await session.console.style("stdout");
  const styled = lines.map((cells, at) =>
    joined(
      cells.map(({ column, text, padding }) => {
        const name = at === 0 ? "heading" : styleOf(text, column);
        return (name === null ? text : style(name, text)) + padding;
      }),
    ),
  );
  const plain = lines.map((cells) => joined(cells.map(({ text, padding }) => text + padding)));
  await session.console.result(plain, (_line, at) => styled[at] ?? "");
  if (leftOut.length === 0) return leftOut;
  await session.console.note(
    `Not shown for lack of room: ${leftOut.map(({ heading }) => heading).join(", ")}.`,
  );
  return leftOut;
}

function joined(cells: readonly string[]): string {
  return cells.join(" ".repeat(BETWEEN)).trimEnd();
}
