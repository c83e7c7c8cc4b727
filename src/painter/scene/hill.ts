import { fillFading, fillShaded } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Outline, Point } from "../canvas/outline.ts";
import { brighter, hex, hexes, mix, type Rgb } from "../canvas/rgb.ts";
import type { Hill, Plants, Soil } from "../data/scenery.ts";
import { PLANTS, type PlantName } from "../data/surroundings.ts";
import { fractal } from "../random.ts";
import { type Place, paintDrawing, SNOW } from "./drawing.ts";
import { isExcluded, lit, type Stage } from "./stage.ts";

/** The line of a hill against what is behind it, for every column of pixels; smaller is higher. */
export type Crest = (x: number) => number;

export function crestOf(stage: Stage, [, at, high, wide, rugged]: Hill, index: number): Crest {
  const { horizon, height, unit, noise } = stage;
  const draw = stage.random(`hill ${index}`);
  const base = horizon + (height - horizon) * at;
  const offset = draw.between(0, 200);
  const span = unit * wide * draw.between(0.8, 1.2);
  const rise = unit * high * draw.between(0.7, 1.15);
  return (x) => base - rise * fractal(noise, x / span + offset, offset, rugged);
}

/** A hill down to `bottom`, which is where something else covers it. */
export function hillLayers(stage: Stage, hill: Hill, crest: Crest, bottom: number): Layer[] {
  const { width, unit, light, isWinter } = stage;
  const [, , , span, rugged, far, soil] = hill;
  const steps = Math.min(900, Math.ceil((width / unit / span) * 2 ** rugged * 3) + 24);
  const line = Array.from({ length: steps + 1 }, (_, i): Point => {
    const x = -2 + ((width + 4) * i) / steps;
    return [x, crest(x)];
  });
  const outline: Outline = [[...line, [width + 2, bottom], [-2, bottom]]];
  if (soil === "sand") return [dune(stage, outline, crest, far)];
  const color = lit(stage, isWinter ? mix(soilOf(stage, soil), SNOW, 0.8) : soilOf(stage, soil), far);
  return [fillFading(outline, mix(color, light.glow, 0.2), brighter(color, 0.6 + 0.4 * far))];
}

function soilOf({ land, random }: Stage, soil: Soil): Rgb {
  if (soil === "rock") return brighter(land.rock, 0.8);
  if (soil === "far") return mix(land.far, land.rock, 0.4);
  return soil === "near" ? land.near : brighter(mix(random("wood").pick(land.foliage), land.near, 0.3), 0.7);
}

/** A dune, whose lee side lies in shadow. */
function dune(stage: Stage, outline: Outline, crest: Crest, far: number): Layer {
  const { unit, width, side, light, isWinter } = stage;
  const sand = isWinter ? SNOW : hex("d9985a");
  const bright = mix(lit(stage, sand, far), light.glow, 0.25);
  const shadow = lit(stage, brighter(sand, 0.52), far);
  const heights = new Float32Array(width + 1).map((_, x) => crest(x));
  const reach = Math.max(1, Math.round(unit * 0.03));
  const facing = heights.map((_, x) => {
    const next = heights[Math.min(width, x + reach)] as number;
    const rise = next - (heights[Math.max(0, x - reach)] as number);
    return Math.min(1, Math.max(0.08, 0.5 - (side * rise * 1.6) / reach));
  });
  return fillShaded(outline, (x, y, into) => {
    const depth = y - (heights[x] as number);
    const from = Math.min(width, Math.max(0, Math.round(x - side * depth * 0.9)));
    const share = (facing[from] as number) * (1 - Math.min(0.35, depth / unit));
    for (let c = 0; c < 3; c++) {
      into[c] = (shadow[c] as number) + ((bright[c] as number) - (shadow[c] as number)) * share;
    }
  });
}

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
