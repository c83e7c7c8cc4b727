import { softField } from "../canvas/field.ts";
import { fill, fillFading, fillShaded } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Contour, Point } from "../canvas/outline.ts";
import { brighter, hex, mix, type Rgb } from "../canvas/rgb.ts";
import { PLANTS, type PlantName } from "../data/plants.ts";
import type { Hill, Plants } from "../data/settings.ts";
import { fractal } from "../seed/noise.ts";
import { type Place, paintDrawing, SNOW } from "./drawing.ts";
import { isExcluded, lit, type Stage } from "./stage.ts";

/** The line of a hill against what is behind it, for every column of pixels; smaller is higher. */
export type Crest = (x: number) => number;

export function crestOf(stage: Stage, hill: Hill, index: number): Crest {
  const { horizon, height, unit, noise } = stage;
  const draw = stage.random(`hill ${index}`);
  const base = horizon + (height - horizon) * hill.at;
  const offset = draw.between(0, 200);
  const span = unit * hill.span * draw.between(0.8, 1.2);
  const rise = unit * hill.rise * draw.between(0.7, 1.15);
  return (x) => base - rise * fractal(noise, x / span + offset, offset, hill.rugged);
}

/** A hill down to `bottom`, which is where something else covers it. */
export function hillLayers(stage: Stage, hill: Hill, crest: Crest, bottom: number, index: number): Layer[] {
  const { width, unit, light, isWinter } = stage;
  const steps = Math.min(900, Math.ceil((width / unit / hill.span) * 2 ** hill.rugged * 3) + 24);
  const line = Array.from({ length: steps + 1 }, (_, i): Point => {
    const x = -2 + ((width + 4) * i) / steps;
    return [x, crest(x)];
  });
  const outline = [[...line, [width + 2, bottom] as const, [-2, bottom] as const]];
  if (hill.soil === "sand") return [dune(stage, outline[0] ?? [], crest, hill.far)];
  if (hill.soil === "paper") return sheet(stage, outline, index);
  const soil = soilOf(stage, hill.soil);
  const color = lit(stage, isWinter ? mix(soil, SNOW, 0.8) : soil, hill.far);
  return [fillFading(outline, mix(color, light.glow, 0.2), brighter(color, 1 - 0.4 * (1 - hill.far)))];
}

function soilOf({ land, random }: Stage, soil: Hill["soil"]): Rgb {
  if (soil === "rock") return brighter(land.rock, 0.8);
  const ground = soil === "far" ? mix(land.far, land.rock, 0.4) : land.near;
  return soil === "wood" ? brighter(mix(random("wood").pick(land.foliage), ground, 0.3), 0.7) : ground;
}

/** A sheet of cut paper with the shadow of its edge. */
function sheet({ palette, light, unit }: Stage, outline: readonly Contour[], index: number): Layer[] {
  const color = palette[index % palette.length] ?? palette[0];
  const raised = (up: number) => outline.map((contour) => contour.map(([x, y]): Point => [x, y - unit * up]));
  const shadows = [0.006, 0.014, 0.024].map((up) => fill(raised(up), brighter(light.sky[0], 0.4), 0.07));
  return [...shadows, fillFading(outline, mix(color, light.orb, 0.25), brighter(color, 0.72))];
}

/** The lee side of a crest lies in shadow, and both sides carry ripples. */
function dune(stage: Stage, outline: readonly Point[], crest: Crest, far: number): Layer {
  const { unit, noise, width, side, light, land } = stage;
  const sand = land.snow === 1 ? SNOW : hex("d9985a");
  const bright = mix(lit(stage, sand, far), light.glow, 0.25);
  const shadow = lit(stage, brighter(sand, 0.52), far);
  const heights = new Float32Array(width + 1).map((_, x) => crest(x));
  const reach = Math.max(1, Math.round(unit * 0.03));
  const ripples = softField(width, Math.max(1, Math.round(unit / 500)), 1, (x, y, into, at) => {
    into[at] = 0.06 * noise(x / (unit * 0.03), y / (unit * 0.007));
  });
  const ripple = new Float32Array(width);
  let known = -1;
  return fillShaded([outline], (x, y, into) => {
    if (y !== known) ripples(y, ripple);
    known = y;
    const depth = y - (heights[x] as number);
    const from = Math.min(width - 1, Math.max(0, Math.round(x - side * depth * 0.9)));
    const rise =
      (heights[Math.min(width, from + reach)] as number) - (heights[Math.max(0, from - reach)] as number);
    const facing = Math.min(1, Math.max(0.08, 0.5 - (side * rise * 1.6) / reach + (ripple[x] as number)));
    const share = facing * (1 - Math.min(0.35, depth / unit));
    for (let c = 0; c < 3; c++) {
      into[c] = (shadow[c] as number) + ((bright[c] as number) - (shadow[c] as number)) * share;
    }
  });
}

const CLUSTERS: ReadonlySet<string> = new Set(["pine"]);

/** Plants along a crest, in a few colours; where the subject stands there is room for it. */
export function plantLayers(stage: Stage, part: Plants, crest: Crest, index: number): Layer[] {
  const { width, height, unit, noise, land, isWinter, subject, subjectX } = stage;
  const draw = stage.random(`plants ${index}`);
  const plant = kindOf(stage, part.plant);
  const isFlower = part.plant === "flower";
  if (plant === null) return [];
  const few = isFlower && isWinter ? 0 : subject?.on === "ground" && part.tall > 0.15 && isFlower ? 0.5 : 1;
  const count = Math.min(400, Math.ceil((width / unit) * part.many * few));
  const tall = Math.min(unit * part.tall, height * 0.32);
  const colors = isFlower ? flowerColors(stage, plant) : land.foliage;
  const groups: Place[][] = colors.map(() => []);
  for (let i = 0; i < count; i++) {
    const x = width * ((i + draw.between(-0.2, 1.2)) / count);
    const foot = crest(x);
    const y = foot + (height - foot) * (part.down ?? 0) + tall * draw.between(0.02, 0.2);
    const unitTall = (tall / 100) * draw.between(0.6, 1.12);
    const dense = !CLUSTERS.has(plant) || noise(x / (unit * 0.22) + part.far * 70, 5.5) > -0.25;
    const free =
      subject?.on !== "ground" || part.far > 0.15 || plant !== "pine" || Math.abs(x - subjectX) > unit * 0.24;
    const group = groups[draw.integer(0, groups.length - 1)];
    if (dense && free) group?.push({ x, y, unit: unitTall, facing: draw.chance(0.5) ? 1 : -1 });
  }
  return groups.flatMap((places, i) => {
    const main = brighter(colors[i] ?? colors[0], isFlower ? 1 : 0.8);
    const tones = { main: isWinter && plant !== "cactus" ? mix(main, SNOW, 0.35) : main };
    return places.length === 0 ? [] : paintDrawing(stage, PLANTS[plant], tones, places, part.far + 0.001);
  });
}

function kindOf(stage: Stage, plant: Plants["plant"]): PlantName | null {
  const draw = stage.random("plant");
  if (plant === "flower") {
    return isExcluded(stage, "flower")
      ? null
      : (stage.flower ?? draw.pick(["daisy", "daisy", "tulip", "poppy"]));
  }
  if (plant === "grass" || plant === "cactus") return isExcluded(stage, plant) ? null : plant;
  if (isExcluded(stage, "tree forest")) return null;
  if (plant !== "leafy") return plant;
  return stage.isWinter || (stage.setting === "forest" && draw.chance(0.4)) ? "pine" : "tree";
}

function flowerColors({ accent, land, subject }: Stage, plant: PlantName): readonly [Rgb, ...Rgb[]] {
  if (plant === "sunflower") return [hex("f2b820"), hex("f7cf3f")];
  if (accent && !subject) return [accent, brighter(accent, 0.86), mix(accent, SNOW, 0.25)];
  return land.blossom;
}
