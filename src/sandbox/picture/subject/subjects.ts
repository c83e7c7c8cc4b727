import type { Layer } from "../canvas/layer.ts";
import type { Stage } from "../scene/stage.ts";
import type { Footing, Spot } from "../setting/setting.ts";
import { balloon } from "./balloon.ts";
import { bird } from "./bird.ts";
import { boat } from "./boat.ts";
import { castle } from "./castle.ts";
import { cat } from "./cat.ts";
import { deer } from "./deer.ts";
import { fox } from "./fox.ts";
import { house } from "./house.ts";
import { lighthouse } from "./lighthouse.ts";
import { portrait } from "./portrait.ts";
import { robot } from "./robot.ts";
import { tree } from "./tree.ts";
import { whale } from "./whale.ts";

interface Subject {
  readonly footing: Footing;
  draw(stage: Stage, spot: Spot): readonly Layer[];
}

const PAINTERS = {
  lighthouse: onGround(lighthouse),
  boat: { footing: "water", draw: boat },
  whale: { footing: "water", draw: whale },
  cat: onGround(cat),
  fox: onGround(fox),
  deer: onGround(deer),
  bird: onGround(bird),
  house: onGround(house),
  castle: onGround(castle),
  balloon: { footing: "none", draw: balloon },
  tree: onGround(tree),
  portrait: onGround(portrait),
  robot: onGround(robot),
} satisfies Record<string, Subject>;

export type SubjectName = keyof typeof PAINTERS;

export const SUBJECTS: Readonly<Record<SubjectName, Subject>> = PAINTERS;

function onGround(draw: Subject["draw"]): Subject {
  return { footing: "ground", draw };
}
