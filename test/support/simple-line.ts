const WORD = /(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\!]*")+/;
const LINE = new RegExp(String.raw`^((?:\w+=${WORD.source} )*)imggen((?: +${WORD.source})*)(?: +#.*)?$`);

/**
 * A line that a shell would run as one call of imggen, with nothing that only a shell can do.
 * @returns null for a line with pipes, variables, several commands or other things of a shell
 */
export function parseSimpleLine(line: string) {
  const match = LINE.exec(line.trim());
  if (match === null) return null;
  const [, assignments = "", words = ""] = match;
  const split = (text: string) => (text.match(new RegExp(WORD, "g")) ?? []).map(withoutQuotes);
  const env = split(assignments).map((text) => [text.replace(/=.*/s, ""), text.replace(/^\w+=/, "")]);
  return { env: Object.fromEntries(env) as Record<string, string>, args: split(words) };
}

function withoutQuotes(word: string): string {
  return word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single = "", double = "") => single || double);
}
