import { readCsv } from "./csv.ts";
import { type ManifestEntry, type ReadOptions, type RowSeeds, withSeeds } from "./entry.ts";
import { readJsonLines, readObjects } from "./json-lines.ts";
import { readLines } from "./lines.ts";
import { formatOfText, type ManifestFormat } from "./manifest-format.ts";

const READERS: Readonly<
  Record<ManifestFormat, (bytes: Buffer, options: ReadOptions) => Generator<ManifestEntry>>
> = {
  txt: readPrompts,
  jsonl: readJsonLines,
  csv: readCsv,
};

/** Limit in bytes, because a stream might be endless. */
const MAX_BYTES = 256 * 1024 * 1024;

const MAX_ROWS = 1_000_000;

/** Yields at most `MAX_ROWS` rows. Values are not checked against the models. @throws only the errors of `chunks` */
export async function* readManifest(
  chunks: AsyncIterable<Uint8Array>,
  format: ManifestFormat | "detect",
  options: ReadOptions = {},
): AsyncGenerator<ManifestEntry> {
  const bytes = await readAll(chunks);
  if (bytes === null) yield { line: 1, message: "the manifest is longer than 256 MiB; split it" };
  else {
    const entries = READERS[format === "detect" ? detectFormat(bytes) : format](bytes, options);
    yield* limitRows(options.seeds === undefined ? entries : expandSeeds(entries, options.seeds));
  }
}

function* expandSeeds(entries: Iterable<ManifestEntry>, seeds: RowSeeds): Generator<ManifestEntry> {
  for (const entry of entries) yield* withSeeds(entry, seeds);
}

export function readRows(values: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<ManifestEntry> {
  return limitRows(readObjects(values, {}));
}

/** Returns null if the input exceeds `MAX_BYTES`. */
async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<Buffer | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_BYTES) return null;
    parts.push(chunk);
  }
  return Buffer.concat(parts, size);
}

async function* limitRows(
  source: Iterable<ManifestEntry> | AsyncIterable<ManifestEntry>,
): AsyncGenerator<ManifestEntry> {
  let entries = 0;
  for await (const entry of source) {
    if (++entries > MAX_ROWS) {
      yield {
        line: entry.line,
        message: "more than 1,000,000 rows; split the manifest. Later rows were not checked",
      };
      return;
    }
    yield entry;
  }
  if (entries === 0) yield { line: 1, message: "the manifest has no rows" };
}

function detectFormat(bytes: Buffer): ManifestFormat {
  for (const { text, problem } of readLines(bytes))
    if (problem !== null || text.trim() !== "") return formatOfText(text);
  return "txt";
}

const BLANK_OR_COMMENT = /^\s*(?:#|$)/;

/** Reads one prompt per line, without surrounding spaces. Blank lines and lines that begin with `#` are skipped. */
function* readPrompts(bytes: Buffer): Generator<ManifestEntry> {
  for (const { number: line, text, problem } of readLines(bytes)) {
    if (problem !== null) yield { line, message: problem };
    else if (!BLANK_OR_COMMENT.test(text)) {
      const prompt = text.trim();
      yield { line, values: { prompt }, ...(prompt !== text && { uncut: text }) };
    }
  }
}
