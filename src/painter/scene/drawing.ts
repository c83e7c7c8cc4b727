import { brighter, hex, hexes, mix, type Rgb } from "../canvas/color.ts";
import { fading, fill, glow, type Layer } from "../canvas/fill.ts";
import { type Outline, type Point, readShapes } from "../canvas/outline.ts";
import { SCENERY, type SceneryName } from "../data/drawings.ts";
import { isExcluded, lit, type Part, type Stage } from "./stage.ts";

/** Where a drawing goes: its foot in pixels, the size of a unit (negative: upside down), -1 to look the other way. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly unit: number;
  readonly facing: 1 | -1;
}

export const SNOW = hex("f4f8ff");
const CREAM = hex("f6ead8");

const INKS: Readonly<Record<string, Rgb>> = {
  ink: hex("26202a"),
  white: hex("fdfaf4"),
  cream: CREAM,
  pink: hex("e39a94"),
  gold: hex("e0a93a"),
  red: hex("c9382f"),
  bark: hex("5f4636"),
  stone: hex("d8cdbd"),
  lamp: hex("fff1b8"),
  snow: SNOW,
};

/** A colour of a drawing by its name, as it is in daylight. */
function colorOf({ light, land }: Stage, name: string, main: Rgb): Rgb {
  if (name === "main") return main;
  if (name === "leaf") return land.foliage[0];
  if (name === "rock") return brighter(land.rock, 0.62);
  if (name === "shadow") return brighter(land.near, 0.3);
  if (name === "smoke") return light.haze;
  if (name === "lit") return mix(hex("56677a"), hex("ffd27a"), Math.max(0.1, light.lamps));
  return INKS[name] ?? hex(name);
}

const LINE = /^(\w+)([-+]*)(!?)(?:\/(\d+))?([=*]*)\s+(.+)$/;

/** The layers of a drawing (data/drawings.ts says how to read one) in all of these places, line by line. */
export function paintDrawing(
  stage: Stage,
  drawing: string,
  main: Rgb,
  places: readonly Place[],
  distance = 0,
  strength = 1,
): Layer[] {
  const { light, isWinter } = stage;
  return drawing.split("\n").flatMap((line) => {
    const [, name = "", shades = "", unlit, percent = "100", signs = "", shapes = ""] = LINE.exec(line) ?? [];
    const opacity = ((strength * Number(percent)) / 100) * (name === "lamp" ? light.lamps : 1);
    if (opacity === 0 || shapes === "" || places.length === 0 || (name === "snow" && !isWinter)) return [];
    let color = colorOf(stage, name, main);
    for (const sign of shades) color = sign === "-" ? brighter(color, 0.8) : mix(color, CREAM, 0.4);
    // The subject may be a little brighter than the light allows, and so are windows.
    const ownShare = unlit ? 1 : name === "lit" ? light.lamps * (1 - distance) : distance === 0 ? 0.25 : 0;
    color = mix(lit(stage, color, distance), color, ownShare);
    if (signs.includes("*")) return places.map((place) => glowAt(place, shapes, color, opacity));
    const outline = outlines(readShapes(shapes), signs.includes("="), places);
    if (unlit || name === "lit") return [fill(outline, color, opacity)];
    return [fill(outline, fading(mix(color, light.glow, 0.2), brighter(color, 0.82)), opacity)];
  });
}

function outlines(shapes: Outline, isTwin: boolean, places: readonly Place[]): Outline {
  return places.flatMap(({ x, y, unit, facing }) =>
    (isTwin ? [1, -1] : [facing]).flatMap((side) =>
      shapes.map((contour) =>
        contour.map(([u, v]): Point => [x + (u - 50) * Math.abs(unit) * side, y + (v - 100) * unit]),
      ),
    ),
  );
}

function glowAt({ x, y, unit, facing }: Place, numbers: string, color: Rgb, strength: number): Layer {
  const [u = 0, v = 0, radius = 0] = numbers.split(" ").map(Number);
  const size = Math.abs(unit);
  return glow(x + (u - 50) * size * facing, y + (v - 100) * unit, radius * size, color, strength);
}

const CONCRETE = hexes("8791a3 a08f86 6f7d92 947f8c");

/**
 * Plants or towers along the crest, in a few colours.
 * @param many how many to the size of the picture
 * @param tall as a share of the size of the picture
 * @param far from 0 (here) to 1 (lost in haze)
 * @param down how far below the crest, as a share of what is below it
 */
export function row(
  kind: "trees" | "flowers" | SceneryName,
  many: number,
  tall: number,
  far: number,
  down = 0,
): Part {
  return (stage) => {
    const { width, height, unit, noise, accent, subject, subjectX, land, isWinter, crest } = stage;
    const name = kind === "trees" ? stage.trees : kind === "flowers" ? stage.flowers : kind;
    if (isExcluded(stage, `${kind} ${name} ${name === "pine" ? "tree" : kind.slice(0, -1)}`)) return [];
    const draw = stage.random(`row ${kind} ${far}`);
    const isBuilt = kind === "tower" || kind === "block";
    const snow = isWinter && kind !== "grass" ? 0.35 : 0;
    const leaves = land.foliage.map((leaf) => mix(brighter(leaf, 0.8), SNOW, snow));
    const petals =
      accent && !subject ? [accent, brighter(accent, 0.8), mix(accent, SNOW, 0.25)] : land.blossom;
    const colors = isBuilt ? CONCRETE : kind === "flowers" ? petals : leaves;
    const groups = colors.map((main) => ({ main, places: [] as Place[] }));
    const count = Math.min(400, Math.ceil((width / unit) * many));
    const size = Math.min(unit * tall, height * 0.5) / 100;
    for (let i = 0; i < count; i++) {
      const x = width * ((i + draw.between(-0.2, 1.2)) / count);
      const y = crest(x) + (height - crest(x)) * down + size * draw.between(2, isBuilt ? 4 : 20);
      // Pines stand in groups, and not where the subject stands.
      const isInTheWay = stage.isGrounded && far < 0.15 && Math.abs(x - subjectX) < unit * 0.24;
      if (kind === "pine" && (isInTheWay || noise(x / (unit * 0.22) + far * 70, 5.5) < -0.25)) continue;
      const group = groups[Math.floor(draw.between(0, groups.length))];
      group?.places.push({ x, y, unit: size * draw.between(0.6, 1.12), facing: draw.chance(0.5) ? 1 : -1 });
    }
    return groups.flatMap(({ main, places }) =>
      paintDrawing(stage, SCENERY[name], main, places, far + 0.001),
    );
  };
}
