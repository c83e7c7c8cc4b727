import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ManifestEntry, RowValues } from "../../src/core/manifest/entry.ts";
import { MANIFEST_COLUMNS } from "../../src/core/manifest/entry.ts";
import { entriesOf } from "../core/manifest/entries.ts";
import { share } from "../support/holds.ts";
import { drafts } from "../support/requests.ts";

const FORMATS = ["txt", "jsonl", "csv", "detect"] as const;

/** What manifests are made of, and what breaks them. */
const PIECES = [
  ...['"', '"', '""', ",", ",", "\n", "\n", "\r\n", "\r", " ", "\t", "\0", "\ufeff", "{", "}", "[", "]", ":"],
  ...["#", "\\", "..", "/", "1", "-1", "null", "é", "🦊", "\u2028", "\ufffd", "a", "fox.png", "Prompt"],
  ...[
    '{"prompt":"a fox"}\n',
    '"prompt":',
    '"image":["',
    "prompt,model,output\n",
    "prompt\n",
    ...MANIFEST_COLUMNS,
  ],
].map((text) => Buffer.from(text));

const piece = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...PIECES) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4 }) },
);
const opening = fc.constantFrom("", "", "prompt\n", "prompt,model\r\n", "\ufeffprompt,output\n", "\xff\xfe");
const bytes = fc
  .tuple(opening, fc.array(piece, { maxLength: 24 }))
  .map(([start, parts]) => Buffer.concat([Buffer.from(start, "latin1"), ...parts]));

function lineCount(content: Buffer): number {
  return content.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 1);
}

function checkEntries(entries: readonly ManifestEntry[], lines: number): void {
  let last = 1;
  expect(entries.length).toBeGreaterThan(0);
  for (const entry of entries) {
    const { line } = entry;
    expect(Number.isInteger(line) && line >= last && line <= lines).toBe(true);
    last = line;
    if ("message" in entry) expect(entry.message).toMatch(/\S/);
    else expect(entry.values.prompt.trim()).not.toBe("");
  }
}

describe("any bytes as a manifest", () => {
  it("come to rows and problems, each with its line, in order, in any format", async () => {
    const seen = { row: 0, problem: 0 };
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...FORMATS), bytes, async (format, content) => {
        const entries = await entriesOf(content, format);
        checkEntries(entries, lineCount(content));
        for (const entry of entries) seen["message" in entry ? "problem" : "row"] += 1;
      }),
      { numRuns: share(24_000) },
    );
    expect(seen.row).toBeGreaterThan(share(1000));
    expect(seen.problem).toBeGreaterThan(share(1000));
  }, 180_000);

  it("come to the same, however they are cut into chunks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FORMATS),
        bytes,
        fc.integer({ min: 1, max: 9 }),
        async (format, content, size) => {
          expect(await entriesOf(content, format, size)).toEqual(await entriesOf(content, format));
        },
      ),
      { numRuns: share(4000) },
    );
  }, 180_000);
});

const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).filter((text) => /\S/.test(text));
const messy = fc
  .array(fc.oneof(word, fc.constantFrom('"', ",", "\n", "#", " ", "''", "\t", "{")), { maxLength: 8 })
  .map((parts) => `x${parts.join("")}`);
const plain = fc.stringMatching(/^[a-z0-9][a-z0-9:-]{0,8}$/);
const rowValues: fc.Arbitrary<RowValues> = drafts(messy, plain);

const quotedCell = (text: string) => `"${text.replaceAll('"', '""')}"`;
const asCells = (row: RowValues) =>
  MANIFEST_COLUMNS.map((column) =>
    column === "fields" ? fieldsCell(row) : [row[column] ?? ""].flat().join(" "),
  );
/** A list of pairs, in which texts are quoted: others look like numbers. One object in JSON where a value is one. */
const fieldsCell = ({ fields = {} }: RowValues) => {
  if (Object.values(fields).some((value) => typeof value === "object")) return JSON.stringify(fields);
  const pairs = Object.entries(fields).map(([name, value]) =>
    typeof value === "string" ? `${name}="${value}"` : `${name}=${value}`,
  );
  return pairs.length === 0 ? "" : JSON.stringify(pairs);
};

describe("rows that were written as a manifest", () => {
  async function valuesIn(text: string, format: "csv" | "jsonl") {
    const entries = await entriesOf(text, format);
    return entries.map((entry) => ("message" in entry ? entry.message : entry.values));
  }

  it("are read as they were, from CSV", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(rowValues, { minLength: 1, maxLength: 6 }),
        fc.constantFrom("\n", "\r\n"),
        async (rows, end) => {
          const records = [MANIFEST_COLUMNS, ...rows.map(asCells)].map((cells) =>
            cells.map(quotedCell).join(","),
          );
          expect(await valuesIn(records.join("\n").replaceAll("\n", end), "csv")).toEqual(rows);
        },
      ),
      { numRuns: share(1500) },
    );
  });

  it("are read as they were, from JSON lines", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(rowValues, { minLength: 1, maxLength: 6 }), async (rows) => {
        const lines = rows.map((row) => JSON.stringify(row));
        expect(await valuesIn(lines.join("\n"), "jsonl")).toEqual(rows);
      }),
      { numRuns: share(1500) },
    );
  });
});
