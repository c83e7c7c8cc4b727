const LONGEST_SHOWN = 60;

/** Text from a manifest, quoted for a sentence; very long text is cut. */
export function quoted(text: string): string {
  if (text.length <= LONGEST_SHOWN) return `"${text}"`;
  return `"${Array.from(text.slice(0, LONGEST_SHOWN + 1))
    .slice(0, LONGEST_SHOWN)
    .join("")}…"`;
}
