export interface Wrapping {
  columns: number;
  /** Blanks before each line. */
  indent: number;
  /** More blanks before all but the first. Default: none. */
  hanging?: number;
  /** What every line but the last ends with. Default: nothing. */
  end?: string;
}

/** Words in lines that fit; only a word that is too long by itself makes a longer one. */
export function wrapWords(
  words: readonly string[],
  { columns, indent, hanging = 0, end = "" }: Wrapping,
): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    const longer = line === "" ? " ".repeat(indent) + word : `${line} ${word}`;
    if (line === "" || longer.length + end.length <= columns) line = longer;
    else {
      lines.push(line + end);
      line = " ".repeat(indent + hanging) + word;
    }
  }
  return [...lines, line];
}
