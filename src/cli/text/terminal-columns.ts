// This file is separate, because `string-width` takes longer to load than the rest of the program.
import stringWidth from "string-width";

export function countColumns(text: string): number {
  return stringWidth(text);
}

export function cutTo(text: string, width: number, cut: "start" | "end" = "end"): string {
  if (countColumns(text) <= width) return text;
  const graphemes = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  if (cut === "start") graphemes.reverse();
  let usedColumns = 1;
  let fitting = "";
  for (const grapheme of graphemes) {
    usedColumns += countColumns(grapheme);
    if (usedColumns > width) break;
    fitting = cut === "start" ? grapheme + fitting : fitting + grapheme;
  }
  return cut === "start" ? `…${fitting}` : `${fitting}…`;
}
