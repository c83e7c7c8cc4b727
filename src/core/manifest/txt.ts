import type { Found } from "./entry.ts";
import type { ManifestLine } from "./lines.ts";

const BLANK_OR_COMMENT = /^\s*(?:#|$)/;

/** One prompt on each line, without the blanks around it. Blank lines and lines that begin with `#` are skipped. */
export async function* readPrompts(lines: AsyncIterable<ManifestLine>): AsyncGenerator<Found> {
  for await (const { number: line, text, problem } of lines) {
    if (problem !== null) yield { line, message: problem };
    else if (!BLANK_OR_COMMENT.test(text)) {
      const prompt = text.trim();
      yield { line, values: { prompt }, ...(prompt !== text && { uncut: text }) };
    }
  }
}
