import { fill, fillFading, fillShaded, glow } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { type Outline, type Point, readShapes } from "../canvas/outline.ts";
import { brighter, hex, hexes, mix, type Rgb } from "../canvas/rgb.ts";
import type { Random } from "../random.ts";
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

const CREAM = hex("f6ead8");
const WHITE = hex("ffffff");
export const SNOW = hex("f4f8ff");

/** Colours that every drawing has. */
const COMMON: Tones = {
  ...{ ink: hex("26202a"), white: hex("fdfaf4"), cream: CREAM, pink: hex("e39a94"), gold: hex("e0a93a") },
  ...{ bark: hex("5f4636"), stem: hex("4f7a44"), heart: hex("6b4420"), glint: WHITE, snow: SNOW },
  ...{ night: hex("05060f"), lamp: hex("fff1b8") },
};

/** Those that the land gives, or that are chosen for each picture. */
const LAND: Readonly<Record<string, (stage: Stage, draw: Random) => Rgb>> = {
  rock: ({ land }) => brighter(land.rock, 0.62),
  turf: ({ land, isWinter }) => (isWinter ? SNOW : land.near),
  tile: (_, draw) => draw.pick(hexes("8a4a3c 6a5a60 7a5a44")),
  wood: (_, draw) => draw.pick(hexes("a8734a 8a5a3a c49a6c 6f5a4a")),
  wall: ({ land, light }, draw) =>
    mix(draw.pick([land.water, light.sky[0], ...land.foliage]), light.haze, 0.4),
  leaf: ({ land }, draw) => draw.pick(land.foliage),
};

/** Those that are as they look already. */
const LIT: Readonly<Record<string, (stage: Stage) => Rgb>> = {
  shadow: (stage) => lit(stage, brighter(stage.land.near, 0.3)),
  smoke: ({ light }) => mix(light.haze, WHITE, 0.45),
  foam: (stage) => mix(lit(stage, hex("e8f6fb")), WHITE, 0.3),
  pane: (stage) => mix(lit(stage, hex("56677a")), hex("ffd27a"), Math.max(0.1, stage.light.lamps)),
  disc: ({ light }) => mix(light.orb, light.glow, 0.45),
};

const LINE = /^(\d )?(\w+?)([-+]*)(!?)(?:\/(\d+))?([=~>*]*)\s+(.+)$/;

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
  const variant = stage.random("variant").pick(["1 ", "2 ", "3 "]);
  return drawing.split("\n").flatMap((line) => {
    const [, only, name = "", shades = "", unlit, percent = "100", signs = "", shapes = ""] =
      LINE.exec(line) ?? [];
    if ((only ?? variant) !== variant || (name === "snow" && !stage.isWinter)) return [];
    const color = toneOf(stage, tones, name, shades, unlit === "!" ? null : distance);
    const opacity = (strength * Number(percent)) / 100;
    if (signs.includes("*")) return lights(stage, name, shapes, places, color, opacity);
    const outline = outlines(shapes, signs.includes("="), places, draw);
    if (signs.includes(">")) return [beam(stage, outline, color, opacity)];
    const round = signs.includes("~") ? [roundness(stage, outline)] : [];
    if (name === "shade") return round;
    if (unlit || name === "shadow") return [fill(outline, color, opacity), ...round];
    const upper = mix(color, stage.light.glow, 0.2);
    return [fillFading(outline, upper, brighter(color, 0.82), opacity), ...round];
  });
}

/** A colour by its name, made darker or paler; at a `distance` of null it shines by itself. */
function toneOf(stage: Stage, tones: Tones, name: string, shades: string, distance: number | null): Rgb {
  const ready = LIT[name];
  if (ready) return ready(stage);
  let color = tones[name] ?? COMMON[name] ?? (LAND[name] ?? LAND.leaf)?.(stage, stage.random(name)) ?? SNOW;
  for (const sign of shades) color = sign === "-" ? brighter(color, 0.8) : mix(color, CREAM, 0.4);
  if (distance === null) return color;
  // Whom the picture is about may be a little brighter than the light allows.
  return mix(lit(stage, color, distance), color, distance === 0 ? 0.25 : 0);
}

function outlines(shapes: string, isTwin: boolean, places: readonly Place[], draw: Random): Outline {
  const once = shapes.includes("B") ? null : readShapes(shapes, draw);
  return places.flatMap(({ x, y, unit, facing, flipped }) =>
    (isTwin ? [facing, -facing] : [facing]).flatMap((side) =>
      (once ?? readShapes(shapes, draw)).map((contour) =>
        contour.map(
          ([u, v]): Point => [x + (u - 50) * unit * side, y + (v - 100) * (flipped ? -unit : unit)],
        ),
      ),
    ),
  );
}

function lights(
  { light }: Stage,
  name: string,
  numbers: string,
  places: readonly Place[],
  color: Rgb,
  strength: number,
): Layer[] {
  const [u = 0, v = 0, radius = 0] = numbers.split(" ").map(Number);
  const share = strength * (name === "lamp" ? light.lamps : 1);
  return places.map(({ x, y, unit, facing }) =>
    glow(x + (u - 50) * unit * facing, y + (v - 100) * unit, radius * unit, color, share),
  );
}

/** Shade on the side away from the light, and a gloss towards it. */
function roundness({ light, side }: Stage, outline: Outline): Layer {
  const shadow = brighter(light.sky[0], 0.25);
  return fillShaded(outline, (_x, _y, into, across) => {
    const towards = across * side - 0.25;
    const tone = towards < 0 ? shadow : light.glow;
    for (let c = 0; c < 3; c++) into[c] = tone[c] as number;
    into[3] = Math.abs(towards) * 0.35;
  });
}

/** The beam of a lamp at the first point of the outline. */
function beam({ light, width }: Stage, outline: Outline, color: Rgb, opacity: number): Layer {
  const [from] = outline[0]?.[0] ?? [0];
  const length = Math.max(width * 0.2, ...(outline[0] ?? []).map(([x]) => Math.abs(x - from)));
  return fillShaded(outline, (x, _y, into) => {
    into.set(color);
    into[3] = opacity * light.lamps * Math.max(0, 1 - Math.abs(x - from) / length) ** 2;
  });
}
