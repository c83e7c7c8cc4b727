import type { Stage } from "../scene/stage.ts";
import type { Random } from "../seed/random.ts";
import type { SubjectName } from "../subject/subjects.ts";
import { abstract } from "./abstract.ts";
import { city } from "./city.ts";
import { desert } from "./desert.ts";
import { forest } from "./forest.ts";
import { lake } from "./lake.ts";
import { meadow } from "./meadow.ts";
import { mountains } from "./mountains.ts";
import { sea } from "./sea.ts";
import type { Footing, Setting } from "./setting.ts";
import { space } from "./space.ts";
import { studio } from "./studio.ts";

export const SETTINGS = {
  sea,
  lake,
  mountains,
  city,
  forest,
  meadow,
  space,
  desert,
  abstract,
  studio,
} satisfies Record<string, (stage: Stage, footing: Footing) => Setting>;

export type SettingName = keyof typeof SETTINGS;

/** Where a subject is at home when the prompt names no place. */
const HOMES: Readonly<Record<SubjectName, readonly [SettingName, ...SettingName[]]>> = {
  lighthouse: ["sea"],
  boat: ["sea", "lake", "sea"],
  whale: ["sea"],
  cat: ["meadow", "city"],
  fox: ["forest", "meadow"],
  deer: ["forest", "mountains"],
  bird: ["meadow", "forest"],
  house: ["mountains", "meadow"],
  castle: ["mountains", "lake"],
  balloon: ["mountains", "meadow", "desert"],
  tree: ["meadow"],
  portrait: ["studio"],
  robot: ["city", "studio"],
};

export function homeOf(subject: SubjectName | undefined, draw: Random): SettingName {
  return subject ? draw.pick(HOMES[subject]) : "abstract";
}
