import type { Layer } from "../canvas/layer.ts";
import { brighter, hexes, mix, type Rgb } from "../canvas/rgb.ts";
import type { Plants } from "../data/scenery.ts";
import { PLANTS, type PlantName } from "../data/surroundings.ts";
import { type Place, paintDrawing, SNOW } from "./drawing.ts";
import type { Crest } from "./hill.ts";
import { isExcluded, type Stage } from "./stage.ts";

/** Plants along a crest, in a few colours; where the subject stands there is room for it. */
export function plantLayers(stage: Stage, part: Plants, crest: Crest, index: number): Layer[] {
  const { width, height, unit, noise, isWinter, subject, subjectX } = stage;
  const [, kind, many, size, far, down] = part;
  const plant = kindOf(stage, kind);
  if (plant === null) return [];
  const draw = stage.random(`plants ${index}`);
  const isGrounded = subject?.on === "ground";
  const density =
    kind === "leafy" && plant === "pine" ? 2 : kind === "flower" && isGrounded && size > 0.15 ? 0.5 : 1;
  const count = Math.min(400, Math.ceil((width / unit) * many * density));
  const tall = Math.min(unit * size, height * 0.32);
  const colors = kind === "flower" ? flowerColors(stage, plant) : stage.land.foliage.map(darker);
  const groups = colors.map((color) => ({
    main: isWinter ? mix(color, SNOW, 0.35) : color,
    places: [] as Place[],
  }));
  for (let i = 0; i < count; i++) {
    const x = width * ((i + draw.between(-0.2, 1.2)) / count);
    const y = crest(x) + (height - crest(x)) * down + tall * draw.between(0.02, 0.2);
    const place: Place = {
      x,
      y,
      unit: (tall / 100) * draw.between(0.6, 1.12),
      facing: draw.chance(0.5) ? 1 : -1,
    };
    const isInTheWay = isGrounded && far < 0.15 && Math.abs(x - subjectX) < unit * 0.24;
    // Pines stand in groups, but for those of a forest.
    if (kind === "pine" && (isInTheWay || noise(x / (unit * 0.22) + far * 70, 5.5) < -0.25)) continue;
    groups[draw.integer(0, groups.length - 1)]?.places.push(place);
  }
  return groups.flatMap(({ main, places }) =>
    places.length === 0 ? [] : paintDrawing(stage, PLANTS[plant], { main }, places, far + 0.001),
  );
}

const darker = (color: Rgb) => brighter(color, 0.8);

/** What grows there, unless the prompt or the season rules it out. */
function kindOf(stage: Stage, kind: Plants[1]): PlantName | null {
  const draw = stage.random("plant");
  const { flower, isWinter, setting } = stage;
  if (
    isExcluded(stage, kind === "flower" || kind === "grass" || kind === "cactus" ? kind : "tree pine forest")
  )
    return null;
  if (kind === "flower") return isWinter ? null : (flower ?? draw.pick(["daisy", "daisy", "tulip", "poppy"]));
  if (kind !== "leafy") return kind;
  return isWinter || (setting === "forest" && draw.chance(0.4)) ? "pine" : "tree";
}

function flowerColors({ accent, land, subject }: Stage, plant: PlantName): readonly Rgb[] {
  if (plant === "sunflower") return hexes("f2b820 f7cf3f");
  return accent && !subject ? [accent, darker(accent), mix(accent, SNOW, 0.25)] : land.blossom;
}
