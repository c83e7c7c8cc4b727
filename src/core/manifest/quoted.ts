const LONGEST_SHOWN = 60;

/** A manifest's own text inside a sentence, cut where it is very long. */
export function quoted(text: string): string {
  if (text.length <= LONGEST_SHOWN) return `"${text}"`;
  return `"${Array.from(text.slice(0, LONGEST_SHOWN + 1))
    .slice(0, LONGEST_SHOWN)
    .join("")}…"`;
}
