/** How many names a message lists. */
const MAX_NAMED = 12;

/** The first of several texts in a list, and how many others there are. */
export function listed(texts: readonly string[], most = MAX_NAMED, separator = ", "): string {
  const others = texts.length > most ? [`and ${texts.length - most} more`] : [];
  return [...texts.slice(0, most), ...others].join(separator);
}

/** A text of at most so many characters; an ellipsis stands for what is cut off. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A text without line breaks, and without space around it. */
export function inOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** A clause as a sentence of its own. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/(?<![.?!])$/, ".");
}
