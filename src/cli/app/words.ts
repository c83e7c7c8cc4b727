/** Global flags that take a value. */
const WITH_VALUE: ReadonlySet<string | undefined> = new Set(["--profile"]);

/** The words of a command line that are neither flags nor the values of global flags: first the command's name. */
export function plainWords(argv: readonly string[]): string[] {
  return argv.filter((word, at) => !word.startsWith("-") && !WITH_VALUE.has(argv[at - 1]));
}

/** The word that a completion script asks the program with; `answer.ts` says how. */
export const ASK = "__complete";
