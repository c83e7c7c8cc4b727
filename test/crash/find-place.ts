/** Where a text begins and ends in a source file. */
export interface Place {
  start: number;
  end: number;
}

/**
 * The only place of a text in the code of a file, however both are broken into lines, indented and spaced. A comma may
 * follow the last argument.
 * @throws where there is none, or more than one
 */
export function findPlace(code: string, text: string): Place {
  const [first, ...more] = code.matchAll(new RegExp(patternOf(text), "g"));
  if (!first || more.length > 0)
    throw new Error(`${first ? more.length + 1 : 0} places instead of one: ${text}`);
  return { start: first.index, end: first.index + first[0].length };
}

/** Words and every other character, with any space between them. */
function patternOf(text: string): string {
  const tokens = text.match(/[\w$]+|[^\s\w$]/g) ?? [];
  return tokens.map((token) => (token === ")" ? ",?\\s*\\)" : token.replace(/[^\w]/g, "\\$&"))).join("\\s*");
}
