const MAX_ITEMS = 12;

export function joinFirst(texts: readonly string[], max = MAX_ITEMS, separator = ", "): string {
  const others = texts.length > max ? [`and ${texts.length - max} more`] : [];
  return [...texts.slice(0, max), ...others].join(separator);
}

/** Lists the valid names, for a message about an unknown name: `It has: a, b`. */
export function describeChoices(names: readonly string[]): string {
  return names.length === 0 ? "It has none" : `It has: ${joinFirst(names)}`;
}

export function truncate(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

export function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

export function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/(?<![.?!])$/, ".");
}
