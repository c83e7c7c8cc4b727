/** The word that a completion script asks the program with; `answer.ts` says how. */
export const ASK = "__complete";
