import { ANIMALS } from "./animals.ts";
import { BUILDINGS } from "./buildings.ts";
import { PEOPLE } from "./people.ts";
import { THINGS } from "./things.ts";

/** Subjects as text; `readSubject` reads one. */
export const SUBJECTS = { ...ANIMALS, ...BUILDINGS, ...PEOPLE, ...THINGS } as const;

export type SubjectName = keyof typeof SUBJECTS;
