/**
 * The words of a prompt in lower case and in order, each also without a plural ending, so that tables need
 * the singular only.
 */
export function wordsOf(prompt: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [word] of prompt.toLowerCase().matchAll(/\p{L}+/gu)) {
    words.add(word);
    words.add(word.replace(/(?<=x|sh|ch)es$|(?<=[^s])s$/, "").replace(/(?<=lea|wol)ve$/, "f"));
  }
  return words;
}

/** What the earliest word of the prompt that is in the table stands for. */
export function firstMatch<T>(words: ReadonlySet<string>, table: ReadonlyMap<string, T>): T | undefined {
  for (const word of words) {
    const value = table.get(word);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A table written as a list of words for each value. */
export function vocabulary<T extends string>(
  lists: Readonly<Partial<Record<T, string>>>,
): ReadonlyMap<string, T> {
  const entries = Object.entries<string | undefined>(lists);
  return new Map(
    entries.flatMap(([value, list]) => (list ?? "").split(" ").map((word) => [word, value as T] as const)),
  );
}
