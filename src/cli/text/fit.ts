import { isPrintableAscii, lazyRegex } from "../../lib/late-regex.ts";
import type { OutputStream } from "./output-stream.ts";

/** A line that is never folded, because users copy its text. */
export interface UnfoldedLine {
  text: string;
}

/** Indentation of continuation lines, which distinguishes them from a new message. */
const HANGING = 2;

/** Parts of a text that are never broken: a command at its end, a command within a sentence, a quoted path, a word. */
const PIECE =
  /(?<=: )(?:imggen|chmod|sudo|npm) .*|\(?\bimggen [a-z]+(?: (?:-{1,2}[a-z][\w-]*|<[^>]*>|\S*[\d_]\S*))*\S*|"[^"]*\/[^"]*"\S*|\S+/g;

/** Characters of width 0: accents, joiners, and emoji joined to another emoji. */
const ZERO_WIDTH = lazyRegex(String.raw`\u200d.|[\p{Mn}\p{Me}\p{Cf}]`, "gsu");
/** Characters of width 2: emoji and East Asian scripts. */
const DOUBLE_WIDTH = lazyRegex(
  String.raw`[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]`,
  "gu",
);

/** Returns an approximate width in columns. `countColumns` is exact, but takes too long to load. */
function measure(text: string): number {
  if (isPrintableAscii(text)) return text.length;
  return [...text.replace(ZERO_WIDTH(), "").replace(DOUBLE_WIDTH(), "--")].length;
}

export function pieces(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** Keeps the space at the end, after which the answer is typed. */
export function foldQuestion(question: string, stream: StreamWidth): string {
  const text = question.trimEnd();
  return fold(text, stream).join("\n") + question.slice(text.length);
}

export function fold(line: string, stream: StreamWidth): string[] {
  const columns = streamColumns(stream);
  if (measure(line) <= columns) return [line];
  const indent = line.search(/\S|$/);
  const lines = wrapWords(pieces(line), { columns, indent, hanging: HANGING, measure });
  // A line that is still too long is not indented, so that most commands occupy at most two rows of the terminal.
  return lines.map((each) => (measure(each) > columns ? each.trimStart() : each));
}

type StreamWidth = Pick<OutputStream, "isTTY" | "columns">;

/** Infinity for a stream that is not a terminal. */
export function streamColumns({ isTTY, columns }: StreamWidth): number {
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}

interface Wrapping {
  columns: number;
  indent: number;
  /** Additional spaces before all lines but the first. Default: 0. */
  hanging?: number;
  /** Suffix of every line but the last. Default: none. */
  end?: string;
  /** Measures a text in columns. Default: its length. */
  measure?: (text: string) => number;
}

export function wrapWords(
  words: readonly string[],
  { columns, indent, hanging = 0, end = "", measure = (text) => text.length }: Wrapping,
): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    const longer = line === "" ? " ".repeat(indent) + word : `${line} ${word}`;
    if (line === "" || measure(longer) + end.length <= columns) line = longer;
    else {
      lines.push(line + end);
      line = " ".repeat(indent + hanging) + word;
    }
  }
  return [...lines, line];
}

interface TermLayout {
  columns: number;
  textColumn: number;
  /** A narrower text is placed below the term. */
  minTextColumns: number;
  indent: number;
}

/** Places a text beside a term, or below the term if the columns are few. @param text the words of each paragraph */
export function termLines(
  term: string,
  text: readonly (readonly string[])[],
  { columns, textColumn, minTextColumns, indent }: TermLayout,
): string[] {
  const isBeside = columns - textColumn >= minTextColumns;
  const lines = text.flatMap((words) =>
    wrapWords(words, { columns, indent: isBeside ? textColumn : indent }),
  );
  if (!isBeside) return [term, ...lines];
  const [first = "", ...more] = lines;
  return [term.padEnd(textColumn) + first.trimStart(), ...more];
}
