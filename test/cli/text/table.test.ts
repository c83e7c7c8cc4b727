import fc from "fast-check";
import { expect, it } from "vitest";
import { layOut, type TableCell, type TableColumn } from "../../../src/cli/text/table.ts";
import { countColumns, cutTo } from "../../../src/cli/text/terminal-columns.ts";

const COLUMNS: readonly TableColumn[] = [
  { heading: "MODEL", required: true },
  { heading: "RATIO" },
  { heading: "PROMPT" },
  { heading: "FILE", required: true },
];
const ROWS = [
  [
    "gamma-image-2",
    "16:9",
    "a red fox in the snow, watercolour",
    { path: "/home/ada/pictures/a-red-fox.png" },
  ],
  ["z-image", "1:1", "an owl", "owl.png"],
];

function laidOut(columns: readonly TableColumn[], rows: readonly (readonly TableCell[])[], room: number) {
  const { fitRow, omitted } = layOut(columns, rows, room);
  return { lines: [columns.map(({ heading }) => heading), ...rows].map(fitRow), omitted };
}

function shown(room: number, rows: readonly (readonly TableCell[])[] = ROWS, columns = COLUMNS): string[] {
  const { lines } = laidOut(columns, rows, room);
  return lines.map((cells) =>
    cells
      .map(({ text, padding }) => text + padding)
      .join("  ")
      .trimEnd(),
  );
}

it("a table without a terminal is whole, however wide", () => {
  expect(shown(Number.POSITIVE_INFINITY)[1]).toBe(
    "gamma-image-2  16:9   a red fox in the snow, watercolour  /home/ada/pictures/a-red-fox.png",
  );
});

it("the widest columns are cut first, and those to keep last", () => {
  expect(shown(76)).toEqual([
    "MODEL          RATIO  PROMPT                FILE",
    "gamma-image-2  16:9   a red fox in the sn…  /home/ada/pictures/a-red-fox.png",
    "z-image        1:1    an owl                owl.png",
  ]);
});

it("a column that would be too narrow to read is left out and named, and the others are as wide as they can be", () => {
  const { lines, omitted } = laidOut(COLUMNS, ROWS, 56);
  expect(omitted.map(({ heading }) => heading)).toEqual(["PROMPT"]);
  expect(lines[1]?.map(({ text }) => text)).toEqual([
    "gamma-image-2",
    "16:9",
    "/home/ada/pictures/a-red-fox.png",
  ]);
});

it("a spare column is left out before the others", () => {
  const columns = COLUMNS.map((column) =>
    column.heading === "RATIO" ? { ...column, omitFirst: true } : column,
  );
  const { omitted } = laidOut(columns, ROWS, 56);
  expect(omitted.map(({ heading }) => heading)).toEqual(["RATIO"]);
});

it("a column that is shown whole or not at all is not cut, however narrow the others get", () => {
  const columns = COLUMNS.map((column) =>
    column.heading === "PROMPT" ? { ...column, neverCut: true } : column,
  );
  for (let room = 20; room < 120; room++) {
    const { lines, omitted } = laidOut(columns, ROWS, room);
    const cells = lines.flatMap((line) => line.filter(({ column }) => column.heading === "PROMPT"));
    if (omitted.some(({ heading }) => heading === "PROMPT")) expect(cells).toEqual([]);
    else expect(cells.map(({ text }) => text)).toEqual(["PROMPT", ROWS[0]?.[2], ROWS[1]?.[2]]);
  }
});

it("a column of which a few characters say nothing is left out sooner, and what it gives up goes to the others", () => {
  const columns = COLUMNS.map((column) =>
    column.heading === "PROMPT" ? { ...column, minWidth: 12 } : column,
  );
  for (let room = 20; room < 120; room++) {
    const { lines, omitted } = laidOut(columns, ROWS, room);
    const isShown = omitted.every(({ heading }) => heading !== "PROMPT");
    const prompt = lines[1]?.find(({ column }) => column.heading === "PROMPT");
    expect(prompt?.text.length ?? 0).toBeGreaterThanOrEqual(isShown ? 12 : 0);
    expect(isShown).toBe(prompt !== undefined);
  }
});

it("a text among paths loses its end, so that it still says what it is", () => {
  const rows = [["z-image", "21:9", "", "skipped: --ratio 21:9: z-image takes only 1:1, 4:3, 3:4"]];
  expect(shown(40, rows).at(1)).toMatch(/skipped: --ratio 21:9: .*…$/);
});

it.each([
  [40, "pictures/a-red-fox-3f9c2b1a.png +3"],
  [33, "…a-red-fox-3f9c2b1a.png +3"],
  [23, "…fox-3f9c2b1a.png +3"],
  [19, "…3f9c2b1a.png +3"],
  // From the next word on there would be nothing left of the name.
  [14, "…9c2b1a.png +3"],
])("of a path in %d columns the end is what stays, from a word on: %s", (room, text) => {
  const rows = [[{ path: "pictures/a-red-fox-3f9c2b1a.png +3" }]];
  expect(shown(room, rows, [{ heading: "FILE", required: true }]).at(1)).toBe(text);
});

it("no line is longer than the terminal, in any script, and no cell loses text where there is room", () => {
  const cell = fc.string({ unit: "grapheme", maxLength: 60 });
  const rows = fc.array(fc.tuple(cell, cell, cell, cell), { maxLength: 5 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 30, max: 300 }), (some, room) => {
      for (const line of shown(room, some)) expect(countColumns(line)).toBeLessThanOrEqual(room);
      expect(shown(300, some)).toEqual(shown(Number.POSITIVE_INFINITY, some));
    }),
  );
});

it("a text is cut between characters as they are seen, to the columns that they take", () => {
  expect(cutTo("雪の中の狐", 6)).toBe("雪の…");
  expect(cutTo("fox 👩‍👩‍👧 fox", 7)).toBe("fox 👩‍👩‍👧…");
  expect(cutTo("a fox", 5)).toBe("a fox");
});

it("a table may have some hundred thousand rows", () => {
  const rows = Array.from({ length: 200_000 }, (_, at) => ["z-image", "1:1", "", `${at}.png`]);
  const { fitRow } = layOut(COLUMNS, rows, Number.POSITIVE_INFINITY);
  expect(fitRow(rows.at(-1) ?? []).map(({ text }) => text)).toEqual(["z-image", "1:1", "", "199999.png"]);
});
