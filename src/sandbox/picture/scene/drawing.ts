import { fill, fillFading, fillShaded } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { readShapes } from "../canvas/notation.ts";
import type { Outline, Point } from "../canvas/outline.ts";
import { brighter, hex, hexes, mix, type Rgb } from "../canvas/rgb.ts";
import type { Random } from "../seed/random.ts";
import { lit, type Stage } from "./stage.ts";

/** Where a drawing goes: its foot in pixels, the size of a unit, and -1 to have it look the other way. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly unit: number;
  readonly facing: 1 | -1;
  /** Upside down, as a reflection. */
  readonly flipped?: boolean;
}

/** The colours of a drawing by name. */
export type Tones = Readonly<Record<string, Rgb>>;

const LAMP = hex("fff1b8");
const CREAM = hex("f6ead8");
export const SNOW = hex("f4f8ff");

/** Colours that every drawing has. */
const COMMON: Tones = {
  ...{ ink: hex("26202a"), white: hex("fdfaf4"), cream: CREAM, pink: hex("e39a94"), gold: hex("e0a93a") },
  ...{
    bark: hex("5f4636"),
    stem: hex("4f7a44"),
    heart: hex("6b4420"),
    glint: hex("ffffff"),
    night: hex("05060f"),
    snow: SNOW,
  },
};

const LINE = /^(\w+?)([-+]*)(!?)(?:\/(\d+))?([=~>*]*)\s+(.+)$/;

/** The layers of a drawing (data/subject.ts says how to read one) in all of these places, line by line. */
export function paintDrawing(
  stage: Stage,
  drawing: string,
  tones: Tones,
  places: readonly Place[],
  distance = 0,
  strength = 1,
): Layer[] {
  const draw = stage.random(`drawing ${places[0]?.x}`);
  const layers: Layer[] = [];
  for (const line of drawing.split("\n")) {
    const [, name = "", shades = "", unlit, percent, signs = "", shapes = ""] = LINE.exec(line) ?? [];
    if (shapes === "" || (name === "snow" && !stage.isWinter)) continue;
    const color = toneOf(stage, tones, name, shades, unlit === "!" ? null : distance);
    const opacity = (strength * Number(percent ?? 100)) / 100;
    if (signs.includes("*")) layers.push(...lights(stage, name, shapes, places, color, opacity));
    else layers.push(...shape(stage, name, signs, outlines(shapes, signs, places, draw), color, opacity));
  }
  return layers;
}

function shape(
  stage: Stage,
  name: string,
  signs: string,
  outline: Outline,
  color: Rgb,
  opacity: number,
): Layer[] {
  if (signs.includes(">")) return [beam(stage, outline, color, opacity)];
  const round = signs.includes("~") ? [roundness(stage, outline)] : [];
  if (name === "shade") return round;
  if (name === "shadow" || signs.includes("!")) return [fill(outline, color, opacity)];
  const [upper, lower] = [mix(color, stage.light.glow, 0.2), brighter(color, 0.82)];
  return [fillFading(outline, upper, lower, opacity), ...round];
}

/** A colour by its name, made darker or paler; at a `distance` of null it shines by itself. */
function toneOf(stage: Stage, tones: Tones, name: string, shades: string, distance: number | null): Rgb {
  const { light } = stage;
  if (name === "lamp") return LAMP;
  if (name === "shadow") return lit(stage, brighter(stage.land.near, 0.3));
  if (name === "smoke") return mix(light.haze, [255, 255, 255], 0.45);
  if (name === "foam") return mix(lit(stage, hex("e8f6fb")), [255, 255, 255], 0.3);
  if (name === "pane") return mix(lit(stage, hex("56677a")), hex("ffd27a"), Math.max(0.1, light.lamps));
  if (name === "disc") return mix(light.orb, light.glow, 0.45);
  let color = tones[name] ?? COMMON[name] ?? landTone(stage, name);
  for (const sign of shades) color = sign === "-" ? brighter(color, 0.8) : mix(color, CREAM, 0.4);
  if (distance === null) return color;
  // Whom the picture is about may be a little brighter than the light allows.
  return mix(lit(stage, color, distance), color, distance === 0 ? 0.25 : 0);
}

/** Colours that depend on the land, and a few that are chosen for each picture. */
function landTone({ land, light, isWinter, random }: Stage, name: string): Rgb {
  const draw = random(name);
  if (name === "rock") return brighter(land.rock, 0.62);
  if (name === "turf") return isWinter ? SNOW : land.near;
  if (name === "tile") return draw.pick(hexes("8a4a3c 6a5a60 7a5a44"));
  if (name === "wood") return draw.pick(hexes("a8734a 8a5a3a c49a6c 6f5a4a"));
  if (name === "wall") return mix(draw.pick([land.water, light.sky[0], ...land.foliage]), light.haze, 0.4);
  return draw.pick(land.foliage);
}

function outlines(shapes: string, signs: string, places: readonly Place[], draw: Random): Outline {
  const once = shapes.includes("B") ? null : readShapes(shapes, draw);
  return places.flatMap(({ x, y, unit, facing, flipped }) =>
    (signs.includes("=") ? [facing, -facing] : [facing]).flatMap((side) =>
      (once ?? readShapes(shapes, draw)).map((contour) =>
        contour.map(
          ([u, v]): Point => [x + (u - 50) * unit * side, y + (v - 100) * (flipped ? -unit : unit)],
        ),
      ),
    ),
  );
}

function lights(
  stage: Stage,
  name: string,
  numbers: string,
  places: readonly Place[],
  color: Rgb,
  strength: number,
): Layer[] {
  const [u = 0, v = 0, radius = 0] = numbers.split(" ").map(Number);
  const share = strength * (name === "lamp" ? stage.light.lamps : 1);
  if (share === 0) return [];
  return places.map(({ x, y, unit, facing }) =>
    glow(x + (u - 50) * unit * facing, y + (v - 100) * unit, radius * unit, color, share),
  );
}

/** Shade on the side away from the light, and a gloss towards it. */
function roundness(stage: Stage, outline: Outline): Layer {
  const shadow = brighter(stage.light.sky[0], 0.25);
  return fillShaded(outline, (_x, _y, into, across) => {
    const towards = across * stage.side;
    into.set(towards < 0.25 ? shadow : stage.light.glow);
    into[3] = towards < 0.25 ? 0.34 * (0.25 - towards) : 0.36 * (towards - 0.25);
  });
}

/** The beam of a lamp at the first point of the outline. */
function beam({ light, width }: Stage, outline: Outline, color: Rgb, opacity: number): Layer {
  const [from] = outline[0]?.[0] ?? [0];
  const length = Math.max(...(outline[0] ?? []).map(([x]) => Math.abs(x - from)), width * 0.2);
  return fillShaded(outline, (x, _y, into) => {
    into.set(color);
    into[3] = opacity * light.lamps * Math.max(0, 1 - Math.abs(x - from) / length) ** 2;
  });
}
