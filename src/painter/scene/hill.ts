import { fill, fillFading, fillShaded } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Contour, Outline, Point } from "../canvas/outline.ts";
import { brighter, hex, mix, type Rgb } from "../canvas/rgb.ts";
import type { Hill, Soil } from "../data/scenery.ts";
import { fractal } from "../random.ts";
import { SNOW } from "./drawing.ts";
import { lit, type Stage } from "./stage.ts";

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
export function hillLayers(stage: Stage, hill: Hill, crest: Crest, bottom: number, index: number): Layer[] {
  const { width, unit, light, isWinter } = stage;
  const [, , , span, rugged, far, soil] = hill;
  const steps = Math.min(900, Math.ceil((width / unit / span) * 2 ** rugged * 3) + 24);
  const line = Array.from({ length: steps + 1 }, (_, i): Point => {
    const x = -2 + ((width + 4) * i) / steps;
    return [x, crest(x)];
  });
  const outline: Outline = [[...line, [width + 2, bottom], [-2, bottom]]];
  if (soil === "sand") return [dune(stage, outline, crest, far)];
  if (soil === "paper") return sheet(stage, outline, line, index);
  const color = lit(stage, isWinter ? mix(soilOf(stage, soil), SNOW, 0.8) : soilOf(stage, soil), far);
  return [fillFading(outline, mix(color, light.glow, 0.2), brighter(color, 0.6 + 0.4 * far))];
}

function soilOf({ land, random }: Stage, soil: Soil): Rgb {
  if (soil === "rock") return brighter(land.rock, 0.8);
  if (soil === "far") return mix(land.far, land.rock, 0.4);
  return soil === "near" ? land.near : brighter(mix(random("wood").pick(land.foliage), land.near, 0.3), 0.7);
}

/** A sheet of cut paper with the shadow of its edge. */
function sheet({ palette, light, unit }: Stage, outline: Outline, line: Contour, index: number): Layer[] {
  const color = palette[index % palette.length] ?? palette[0];
  const band = (up: number): Contour => [
    ...line.map(([x, y]): Point => [x, y - unit * up]),
    ...line.toReversed(),
  ];
  const shadows = [0.006, 0.014, 0.024].map((up) => fill([band(up)], brighter(light.sky[0], 0.4), 0.07));
  return [...shadows, fillFading(outline, mix(color, light.orb, 0.25), brighter(color, 0.72))];
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
