import { readCsv } from "./csv-rows.ts";
import type { ManifestEntry, ReadOptions } from "./entry.ts";
import { readJsonLines, readObjects } from "./json-lines.ts";
import { firstOf, type ManifestLine, readLines, withFirst } from "./lines.ts";
import { formatOfText, type ManifestFormat } from "./manifest-format.ts";

type Reader = (lines: AsyncGenerator<ManifestLine>, options: ReadOptions) => AsyncGenerator<ManifestEntry>;

const READERS: Readonly<Record<ManifestFormat, Reader>> = {
  txt: readPrompts,
  jsonl: readJsonLines,
  csv: readCsv,
};

/** More rows are a stream without an end, or the work of several batches. */
const MOST_ROWS = 1_000_000;

/**
 * Reads a manifest as a stream: its rows and all its problems, each with its line, up to `MOST_ROWS`.
 * Values are not checked against the models. A manifest without rows is a problem too.
 * @throws only what `chunks` throws
 */
export async function* readManifest(
  chunks: AsyncIterable<Uint8Array>,
  format: ManifestFormat | "detect",
  options: ReadOptions = {},
): AsyncGenerator<ManifestEntry> {
  const lines = readLines(chunks);
  yield* bounded(format === "detect" ? readDetected(lines, options) : READERS[format](lines, options));
}

/** As `readManifest`, of the rows that a program gives. */
export function readRows(values: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<ManifestEntry> {
  return bounded(readObjects(values, {}));
}

async function* bounded(source: AsyncGenerator<ManifestEntry>): AsyncGenerator<ManifestEntry> {
  let entries = 0;
  for await (const entry of source) {
    if (++entries > MOST_ROWS) {
      yield { line: entry.line, message: TOO_MANY };
      return;
    }
    yield entry;
  }
  if (entries === 0) yield { line: 1, message: "the manifest has no rows" };
}

const TOO_MANY = "more than 1,000,000 rows; split the manifest. Nothing below is read";

async function* readDetected(
  lines: AsyncGenerator<ManifestLine>,
  options: ReadOptions,
): AsyncGenerator<ManifestEntry> {
  const first = await firstOf(lines);
  if (first !== undefined) yield* READERS[formatOfText(first.text)](withFirst(first, lines), options);
}

const BLANK_OR_COMMENT = /^\s*(?:#|$)/;

/** One prompt on each line, without the spaces around it. Blank lines and lines that begin with `#` are skipped. */
async function* readPrompts(lines: AsyncIterable<ManifestLine>): AsyncGenerator<ManifestEntry> {
  for await (const { number: line, text, problem } of lines) {
    if (problem !== null) yield { line, message: problem };
    else if (!BLANK_OR_COMMENT.test(text)) {
      const prompt = text.trim();
      yield { line, values: { prompt }, ...(prompt !== text && { uncut: text }) };
    }
  }
}
