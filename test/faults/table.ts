/** One fault, what is done about it, and the test that proves it, as the README tells them. */
export interface Fault {
  area: string;
  fault: string;
  answer: string;
  /** The test's name as a run shows it, each row of an `it.each` by its own. */
  test: string;
  /** The test files of the area, from the repository's root. */
  files: string[];
}

/** The rows of the README's table of faults. A row with a bold first cell begins an area and links its files. */
export function readFaults(readme: string): Fault[] {
  const table =
    readme.split("\n| fault | what imggen does | test |\n|---|---|---|\n")[1]?.split("\n\n")[0] ?? "";
  const faults: Fault[] = [];
  let area = "";
  let files: string[] = [];
  for (const line of table.split("\n")) {
    const [fault = "", answer = "", test = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    const heading = /^\*\*(.+)\*\*$/.exec(fault)?.[1];
    if (heading === undefined) faults.push({ area, fault, answer, test, files });
    else [area, files] = [heading, [...test.matchAll(/\]\((.+?)\)/g)].map(([, file = ""]) => file)];
  }
  return faults;
}

/** Whether a test file holds a test that a run shows under this name, with the words that its row gives it. */
export function holdsTest(source: string, name: string): boolean {
  return titlesOf(source).some((title) => {
    const words = new RegExp(
      `^${title
        .split(/%[sij]/)
        .map(literally)
        .join("(.+)")}$`,
      "s",
    ).exec(name);
    return words?.slice(1).every((word) => isGiven(source, word)) ?? false;
  });
}

/** The titles of tests, with or without rows; those of skipped ones are not among them. */
function titlesOf(source: string): string[] {
  const titles = source.matchAll(/(?<=\bit|\))\(\s*("(?:[^"\\\n]|\\.)*"),\s*(?:async )?\(/g);
  return [...titles].map(([, title = ""]) => JSON.parse(title));
}

/** A word that a row puts into a title stands in the file: as text, as a number, or as it would be printed. */
function isGiven(source: string, word: string): boolean {
  return new RegExp(`${literally(JSON.stringify(word))}|(?<![\\w"])${literally(word)}(?![\\w"])`).test(
    source,
  );
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
