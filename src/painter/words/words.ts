/** The words of a prompt, in lower case and in order: those that ask for something, and those it rules out. */
export interface Words {
  readonly wanted: readonly string[];
  readonly excluded: ReadonlySet<string>;
}

const NEGATORS = new Set("no not without never except excluding minus avoid nor neither don't".split(" "));
/** What follows one of these is asked for again. */
const TURNS = new Set(
  "but with in on at by near under over behind beside only just instead while".split(" "),
);
const ARTICLES = new Set("a an the".split(" "));

/** "No clouds or people, but a red fox" wants a red fox, and rules out clouds and people. */
export function wordsOf(prompt: string): Words {
  const text = prompt
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/\b(black\s*(and|&|n|\/)\s*white|b\s*&\s*w)\b/g, "monochrome")
    .replace(/\b(\p{L}+?)(?:-free|less)\b/gu, ", no $1,");
  const wanted: string[] = [];
  const excluded = new Set<string>();
  let negated = false;
  let last = "";
  for (const [token] of text.matchAll(/\p{L}[\p{L}']*|[.,;:!?()\n]/gu)) {
    if (NEGATORS.has(token)) negated = true;
    else if (!/\p{L}/u.test(token) || TURNS.has(token)) negated = false;
    else if (last === "and" && ARTICLES.has(token)) negated = false;
    else if (negated) excluded.add(token).add(singular(token));
    else wanted.push(token);
    last = token;
  }
  return { wanted, excluded };
}

/** Tables hold words in the singular. */
export function singular(word: string): string {
  return word.replace(/(?<=x|sh|ch)es$|(?<=[^s])s$/, "").replace(/(?<=lea|wol)ve$/, "f");
}

/** What a word of the prompt stands for in a table. */
export function meaning<T>(word: string, table: ReadonlyMap<string, T>): T | undefined {
  return table.get(word) ?? table.get(singular(word));
}

/** What the earliest word that is in the table stands for. */
export function firstMeaning<T>(words: readonly string[], table: ReadonlyMap<string, T>): T | undefined {
  for (const word of words) {
    const value = meaning(word, table);
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
