import { readCsv } from "./csv-rows.ts";
import type { Found, ManifestEntry, ReadOptions } from "./entry.ts";
import { formatOfText, type ManifestFormat } from "./format.ts";
import { readJsonLines } from "./json-lines.ts";
import { type ManifestLine, readLines } from "./lines.ts";
import { readPrompts } from "./txt.ts";

type Reader = (lines: AsyncIterable<ManifestLine>, options: ReadOptions) => AsyncGenerator<Found>;

const READERS: Readonly<Record<ManifestFormat, Reader>> = {
  txt: readPrompts,
  jsonl: readJsonLines,
  csv: readCsv,
};

/**
 * Reads a manifest of any length as a stream, in bounded memory: its rows and all its problems, each with its line.
 * Values are not checked against the models. A manifest without rows is a problem too.
 * @throws only what `chunks` throws
 */
export async function* readManifest(
  chunks: AsyncIterable<Uint8Array>,
  format: ManifestFormat | "detect",
  options: ReadOptions = { template: null },
): AsyncGenerator<ManifestEntry> {
  let rows = 0;
  let empty = true;
  const lines = readLines(chunks);
  for await (const found of format === "detect"
    ? readDetected(lines, options)
    : READERS[format](lines, options)) {
    empty = false;
    if ("message" in found) yield { kind: "problem", line: found.line, message: found.message };
    else yield { kind: "row", row: { row: ++rows, ...found } };
  }
  if (empty) yield { kind: "problem", line: 1, message: "the manifest has no rows" };
}

async function* readDetected(
  lines: AsyncGenerator<ManifestLine>,
  options: ReadOptions,
): AsyncGenerator<Found> {
  const first = await firstOf(lines);
  if (first !== undefined) yield* READERS[formatOfText(first.text)](withFirst(first, lines), options);
}

/** The first line that is not blank. The generator stays open. */
async function firstOf(lines: AsyncGenerator<ManifestLine>): Promise<ManifestLine | undefined> {
  for (let next = await lines.next(); !next.done; next = await lines.next())
    if (next.value.problem !== null || next.value.text.trim() !== "") return next.value;
  return undefined;
}

async function* withFirst(
  first: ManifestLine,
  rest: AsyncGenerator<ManifestLine>,
): AsyncGenerator<ManifestLine> {
  yield first;
  yield* rest;
}
