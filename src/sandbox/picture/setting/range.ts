import { fillFading, fillShaded, type Shader } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Outline, Point } from "../canvas/outline.ts";
import { brighter, mix, type Rgb } from "../color/rgb.ts";
import { SNOW } from "../scene/snow.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import { fractal } from "../seed/noise.ts";

/** A range of rock and snow that rises from the height `horizon` on the screen, and one in the haze behind it. */
export function range(stage: Stage, horizon: number): Layer[] {
  const far = crestLine(stage, horizon, 0.3, "far range");
  const near = crestLine(stage, horizon, 0.52, "near range");
  const haze = lit(stage, stage.land.far, 0.62);
  return [
    fillFading(slab(stage, far), haze, mix(haze, stage.light.haze, 0.7)),
    fillShaded(slab(stage, near), faces(stage, near)),
  ];
}

/** Height of the crest on the screen for every pixel column. */
function crestLine(stage: Stage, horizon: number, share: number, name: string): Float32Array {
  const { width, unit } = stage;
  const draw = stage.random(name);
  const tallest = Math.min(horizon * share, unit * share * 1.25);
  const spacing = unit * 0.34;
  const first = draw.between(-0.5, 0.1) * spacing;
  const peaks = Array.from({ length: Math.ceil(width / spacing) + 3 }, (_, i) => ({
    x: first + (i + draw.between(-0.25, 0.25)) * spacing,
    tall: tallest * draw.between(0.5, 1),
    slope: draw.between(1.15, 1.7),
  }));
  const offset = draw.between(0, 200);
  return Float32Array.from({ length: width }, (_, x) => {
    const up = Math.max(
      ...peaks.map((peak) => peak.tall - Math.abs(x - peak.x) * peak.slope * (tallest / (unit * 0.55))),
    );
    const crags = fractal(stage.noise, x / (unit * 0.11) + offset, offset, 5);
    return horizon + unit * 0.04 - Math.max(0, up) - tallest * (0.06 + 0.14 * crags);
  });
}

function slab(stage: Stage, crest: Float32Array): Outline {
  const step = Math.max(1, Math.floor(stage.width / 1024));
  const points: Point[] = [[-1, crest[0] as number]];
  for (let x = 0; x < crest.length; x += step) points.push([x + 0.5, crest[x] as number]);
  return [
    [
      ...points,
      [stage.width + 1, crest.at(-1) as number],
      [stage.width + 1, stage.height],
      [-1, stage.height],
    ],
  ];
}

/** Rock and snow, lit from the side the sun is on: below each point of the crest runs a ridge of its own. */
function faces(stage: Stage, crest: Float32Array): Shader {
  const { unit, noise, land, light } = stage;
  const side = lightSide(stage);
  const slope = slopes(crest, Math.max(1, Math.round(unit * 0.016)));
  const rock = [
    lit(stage, brighter(land.rock, 0.5), 0.2),
    lit(stage, brighter(land.rock, 1.15), 0.2),
  ] as const;
  const snow = [lit(stage, brighter(SNOW, 0.66), 0.12), mix(lit(stage, SNOW, 0.1), light.glow, 0.3)] as const;
  const snowDepth = unit * (0.06 + 0.2 * land.snow);
  const last = crest.length - 1;
  return (x, y, into) => {
    const depth = y - (crest[x] as number);
    const wander = fractal(noise, x / (unit * 0.09), y / (unit * 0.16), 2);
    const grit = noise(x / (unit * 0.014), y / (unit * 0.03));
    const from = Math.min(last, Math.max(0, Math.round(x + depth * (0.42 * wander + 0.05 * grit))));
    const facing = Math.min(1, Math.max(0, 0.5 - side * (slope[from] as number) * 1.1 + grit * 0.1));
    const snowline = snowDepth * (1 + 0.8 * wander + 0.35 * grit) - depth;
    const covered = Math.min(1, Math.max(0, snowline / (unit * 0.008)));
    const fog = Math.min(0.8, Math.max(0, (y - stage.horizon + unit * 0.2) / (unit * 0.3)));
    for (let c = 0; c < 3; c++) {
      const stone = channel(rock, c, facing);
      const color = stone + (channel(snow, c, facing) - stone) * covered;
      into[c] = color + ((light.haze[c] as number) - color) * fog;
    }
  };
}

function channel(pair: readonly [Rgb, Rgb], c: number, share: number): number {
  return (pair[0][c] as number) + ((pair[1][c] as number) - (pair[0][c] as number)) * share;
}

function slopes(crest: Float32Array, reach: number): Float32Array {
  const last = crest.length - 1;
  return crest.map((_, x) => {
    const left = crest[Math.max(0, x - reach)] as number;
    return ((crest[Math.min(last, x + reach)] as number) - left) / (2 * reach);
  });
}
