import { isPrintableAscii, lazyRegex } from "../../lib/late-regex.ts";
import type { OutputStream } from "./output-stream.ts";

/** A line that is never folded, because it names what is to be copied in one piece: a path with spaces in it, say. */
export interface WholeLine {
  whole: string;
}

/** Continuation lines are indented, so that they are not taken for a new message. */
const HANGING = 2;

/**
 * Never broken: a command at the end of a line, which is to be pasted; a command within a sentence; a quoted path; a
 * word.
 */
const PIECE =
  /(?<=: )(?:imggen|chmod|sudo|npm) .*|\(?\bimggen [a-z]+(?: (?:-{1,2}[a-z][\w-]*|<[^>]*>|\S*[\d_]\S*))*\S*|"[^"]*\/[^"]*"\S*|\S+/g;

/** Accents, joiners, and emoji that are joined to another. */
const NO_COLUMN = lazyRegex(String.raw`\u200d.|[\p{Mn}\p{Me}\p{Cf}]`, "gsu");
/** Emoji and East Asian writing. */
const TWO_COLUMNS = lazyRegex(
  String.raw`[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]`,
  "gu",
);

/**
 * Approximate number of columns of a text, for wrapping. `countColumns` is exact for every character, but takes
 * longer to load than most commands run.
 */
function measure(text: string): number {
  if (isPrintableAscii(text)) return text.length;
  return [...text.replace(NO_COLUMN(), "").replace(TWO_COLUMNS(), "--")].length;
}

/** The parts of a text that stay in one piece. */
export function pieces(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** A question, folded as messages are. The space at its end stays: the answer is typed after it. */
export function foldQuestion(question: string, stream: Room): string {
  const text = question.trimEnd();
  return fold(text, stream).join("\n") + question.slice(text.length);
}

/** A line in as many lines as a stream needs; on anything but a terminal one. */
export function fold(line: string, stream: Room): string[] {
  const columns = roomOn(stream);
  if (measure(line) <= columns) return [line];
  const indent = line.search(/\S|$/);
  const lines = wrapWords(pieces(line), { columns, indent, hanging: HANGING, measure });
  // A piece that is too long has as much room as there is: most commands then fit one line, or two.
  return lines.map((each) => (measure(each) > columns ? each.trimStart() : each));
}

type Room = Pick<OutputStream, "isTTY" | "columns">;

/** Maximum number of columns of text on a stream: no limit without a terminal. */
export function roomOn({ isTTY, columns }: Room): number {
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}

interface Wrapping {
  columns: number;
  /** Spaces before each line. */
  indent: number;
  /** More spaces before all but the first. Default: none. */
  hanging?: number;
  /** Suffix of every line but the last. Default: none. */
  end?: string;
  /** Measures a text in columns. Default: its length. */
  measure?: (text: string) => number;
}

/** Words in lines that fit; only a word that is too long by itself makes a longer one. */
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

/** Position of the text of a term, in columns. */
interface TermLayout {
  columns: number;
  /** Beginning of text beside the term. */
  beside: number;
  /** Minimum room beside the term; with less, the text is placed below it. */
  least: number;
  /** Spaces before text below the term. */
  indent: number;
}

/** A term and its text, given as the words of each paragraph: beside it, or below it if there is too little room. */
export function besideTerm(
  term: string,
  text: readonly (readonly string[])[],
  { columns, beside, least, indent }: TermLayout,
): string[] {
  const isBeside = columns - beside >= least;
  const lines = text.flatMap((words) => wrapWords(words, { columns, indent: isBeside ? beside : indent }));
  if (!isBeside) return [term, ...lines];
  const [first = "", ...more] = lines;
  return [term.padEnd(beside) + first.trimStart(), ...more];
}
