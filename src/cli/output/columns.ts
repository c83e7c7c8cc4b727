import stringWidth from "string-width";

/** How many columns of a terminal a text takes. */
export function columnsOf(text: string): number {
  return stringWidth(text);
}

/** A text in so many columns of a terminal, with an ellipsis where something is missing. */
export function cutTo(text: string, width: number, cut: "start" | "end" = "end"): string {
  if (columnsOf(text) <= width) return text;
  const graphemes = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  if (cut === "start") graphemes.reverse();
  let used = 1;
  let fitting = "";
  for (const grapheme of graphemes) {
    used += columnsOf(grapheme);
    if (used > width) break;
    fitting = cut === "start" ? grapheme + fitting : fitting + grapheme;
  }
  return cut === "start" ? `…${fitting}` : `${fitting}…`;
}

/** The columns that text on a stream may take: any number where it is no terminal. */
export function roomOn({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}
