/** The columns of a row that are not a request's own, by name, as text. */
export type OtherColumns = ReadonlyMap<string, string>;

const NAME_IN_BRACES = /\{([^{}]*)\}/g;

/** The names that a template asks for, each once. */
export function placeholdersIn(template: string): string[] {
  return [...new Set([...template.matchAll(NAME_IN_BRACES)].map(([, name = ""]) => name.trim()))];
}

/**
 * Puts a row's texts into a template: `a {colour} fox`.
 * @param textOf the text for a name; undefined or blank where the row has none
 * @returns the text, or the names that the row has no text for
 */
export function fillTemplate(
  template: string,
  textOf: (name: string) => string | undefined,
): { text: string } | { missing: string[] } {
  const missing = placeholdersIn(template).filter((name) => (textOf(name) ?? "").trim() === "");
  if (missing.length > 0) return { missing };
  return { text: template.replace(NAME_IN_BRACES, (_all, name: string) => textOf(name.trim()) ?? "") };
}

/** What is wrong with a row that has no text for some names of a template. */
export function missingProblem(flag: "--template" | "--name", missing: readonly string[]): string {
  const names = missing.map((name) => `{${name}}`).join(" ");
  return `the row has no value for ${names}, which ${flag} uses`;
}
