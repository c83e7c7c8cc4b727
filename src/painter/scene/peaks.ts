import { softField } from "../canvas/field.ts";
import { fillFading, fillShaded } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Contour, Point } from "../canvas/outline.ts";
import { brighter, mix } from "../canvas/rgb.ts";
import { fractal } from "../random.ts";
import { SNOW } from "./drawing.ts";
import { lit, type Stage } from "./stage.ts";

/** A range of peaks that rises from the horizon; one lost in haze is a mere outline. */
export function peaks(stage: Stage, share: number, far: number): Layer[] {
  const { width, horizon, light, land } = stage;
  const crest = crestLine(stage, share);
  const points = Array.from(crest, (y, x): Point => [x + 0.5, y]);
  const outline: Contour = [
    [-1, crest[0] ?? 0],
    ...points.filter((_, x) => x % Math.ceil(width / 1024) === 0),
    [width + 1, crest.at(-1) ?? 0],
    [width + 1, horizon + stage.unit * 0.12],
    [-1, horizon + stage.unit * 0.12],
  ];
  if (far < 0.5) return [faces(stage, outline, crest, far)];
  const haze = lit(stage, land.far, far);
  return [fillFading([outline], haze, mix(haze, light.haze, 0.7))];
}

/** Height of the crest on the screen for every column of pixels. */
function crestLine({ width, unit, horizon, noise, random }: Stage, share: number): Float32Array {
  const draw = random(`peaks ${share}`);
  const tallest = Math.min(horizon * share, unit * share * 1.25) * draw.between(0.85, 1.15);
  const spacing = unit * draw.between(0.28, 0.42);
  const first = draw.between(-0.5, 0.1) * spacing;
  const summits = Array.from({ length: Math.ceil(width / spacing) + 3 }, (_, i) => ({
    x: first + (i + draw.between(-0.25, 0.25)) * spacing,
    tall: tallest * draw.between(0.5, 1),
    slope: draw.between(1.15, 1.7) * (tallest / (unit * 0.55)),
  }));
  const offset = draw.between(0, 200);
  return new Float32Array(width).map((_, x) => {
    let up = 0;
    for (const summit of summits) up = Math.max(up, summit.tall - Math.abs(x - summit.x) * summit.slope);
    const crags = fractal(noise, x / (unit * 0.11) + offset, offset, 5);
    return horizon + unit * 0.04 - up - tallest * (0.06 + 0.14 * crags);
  });
}

/** Rock and snow, lit from the side the sun is on: below each point of the crest runs a ridge of its own. */
function faces(stage: Stage, outline: Contour, crest: Float32Array, far: number): Layer {
  const { unit, noise, land, light, horizon, width, side } = stage;
  const last = width - 1;
  const reach = Math.max(1, Math.round(unit * 0.016));
  const slope = crest.map((_, x) => {
    const rise = (crest[Math.min(last, x + reach)] as number) - (crest[Math.max(0, x - reach)] as number);
    return 0.5 - (side * rise * 1.1) / (2 * reach);
  });
  const rockDark = lit(stage, brighter(land.rock, 0.5), far);
  const rockBright = lit(stage, brighter(land.rock, 1.15), far);
  const snowDark = lit(stage, brighter(SNOW, 0.66), 0.12);
  const snowBright = mix(lit(stage, SNOW, 0.1), light.glow, 0.3);
  const snowDepth = unit * (0.06 + 0.2 * land.snow);
  // Two values for each pixel: where the ridge wanders to, and the grit of the stone.
  const texture = softField(width, Math.max(1, Math.round(unit / 450)), 2, (x, y, into, at) => {
    into[at] = fractal(noise, x / (unit * 0.09), y / (unit * 0.16), 2);
    into[at + 1] = noise(x / (unit * 0.014), y / (unit * 0.03));
  });
  const line = new Float32Array(width * 2);
  let known = -1;
  return fillShaded([outline], (x, y, into) => {
    if (y !== known) texture(y, line);
    known = y;
    const wander = line[x * 2] as number;
    const grit = line[x * 2 + 1] as number;
    const depth = y - (crest[x] as number);
    const from = Math.min(last, Math.max(0, Math.round(x + depth * (0.42 * wander + 0.05 * grit))));
    const facing = Math.min(1, Math.max(0, (slope[from] as number) + grit * 0.1));
    const snowline = snowDepth * (1 + 0.8 * wander + 0.35 * grit) - depth;
    const covered = Math.min(1, Math.max(0, snowline / (unit * 0.008)));
    const fog = Math.min(0.8, Math.max(0, (y - horizon + unit * 0.2) / (unit * 0.3)));
    for (let c = 0; c < 3; c++) {
      const stone = (rockDark[c] as number) + ((rockBright[c] as number) - (rockDark[c] as number)) * facing;
      const snow = (snowDark[c] as number) + ((snowBright[c] as number) - (snowDark[c] as number)) * facing;
      const color = stone + (snow - stone) * covered;
      into[c] = color + ((light.haze[c] as number) - color) * fog;
    }
  });
}
