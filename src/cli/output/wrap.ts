/** The columns that text on a stream may take: any number where it is no terminal. */
export function roomOn({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}

export interface Wrapping {
  columns: number;
  /** Blanks before each line. */
  indent: number;
  /** More blanks before all but the first. Default: none. */
  hanging?: number;
  /** What every line but the last ends with. Default: nothing. */
  end?: string;
  /** The columns that a text takes. Default: its length. */
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

/** Where the text of a term stands. All in columns. */
export interface TermLayout {
  columns: number;
  /** Where it begins beside the term. */
  beside: number;
  /** With less room than this it stands below the term. */
  least: number;
  /** Blanks before it there. */
  indent: number;
}

/** A term and its text, given as the words of each paragraph: beside it, or below it where there is too little room. */
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
