import { ANIMALS } from "./animals.ts";
import { BUILDINGS } from "./buildings.ts";
import { PEOPLE } from "./people.ts";
import type { Subject } from "./subject.ts";
import { THINGS } from "./things.ts";

const ALL = { ...ANIMALS, ...BUILDINGS, ...PEOPLE, ...THINGS };

export type SubjectName = keyof typeof ALL;

export const SUBJECTS: Readonly<Record<SubjectName, Subject>> = ALL;
