import { fill, fillFading } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { ellipse, type Outline, type Point } from "../canvas/outline.ts";
import { brighter, hex, mix, type Rgb } from "../color/rgb.ts";
import { inWinter, SNOW } from "../scene/snow.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { type Pen, penFor } from "./pen.ts";

const LAMP = hex("ffd27a");
/** A cabin with warm windows, and smoke over the chimney. */
export function house(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("house");
  const pen = penFor(spot, 100, 62, lightSide(stage));
  const { unit, at, box } = pen;
  const timber = stage.accent ?? draw.pick([hex("9a6440"), hex("b0522f"), hex("e8dcc4"), hex("6f7f8f")]);
  const wall = lit(stage, timber);
  const roof = lit(stage, inWinter(stage) ? SNOW : draw.pick([hex("7a3b34"), hex("4a4a58"), hex("5f4a3a")]));
  const gable = [at(4, 0), at(4, 38), at(24, 66), at(44, 38), at(44, 0)];
  const boards: Outline = Array.from({ length: 6 }, (_, i) => box(-50, 34 - i * 6, 54, 0.7));
  const verge = [at(2, 36), at(24, 69), at(47, 36), at(43, 36), at(24, 63), at(6, 36)];
  return [
    ...smoke(stage, at(-31, 74), unit),
    fill([ellipse(spot.x, spot.y, unit * 58, unit * 4)], lit(stage, brighter(stage.land.near, 0.3)), 0.5),
    fill([box(-36, 74, 9, 30)], brighter(wall, 0.6)),
    fillFading([box(-50, 38, 54, 38)], brighter(wall, 0.78), brighter(wall, 0.6)),
    fill(boards, brighter(wall, 0.5), 0.7),
    fillFading([gable], mix(wall, stage.light.glow, 0.2), wall),
    fillFading([[at(-56, 36), at(-36, 68), at(25, 68), at(5, 36)]], roof, brighter(roof, 0.78)),
    fill([verge], brighter(roof, 1.08)),
    fillFading([box(12, 26, 12, 26)], lit(stage, hex("5a3626")), lit(stage, hex("3f261c"))),
    ...windows(stage, pen, brighter(wall, 0.45)),
  ];
}

function windows(stage: Stage, { unit, at, box }: Pen, frame: Rgb): Layer[] {
  const { lamps } = stage.light;
  const shine = mix(lit(stage, hex("a9c4d4")), LAMP, Math.max(0.15, lamps));
  const panes = [-40, -20, 29].map((x) => box(x, 27, 11, 13));
  const bars = [-40, -20, 29].flatMap((x) => [box(x, 21, 11, 1), box(x + 5, 27, 1, 13)]);
  const glows = [-34.5, -14.5].map((x) => glow(...at(x, 20), 26 * unit, LAMP, 0.4 * lamps));
  return [
    fill(panes, shine),
    fill(bars, frame),
    fill([ellipse(...at(24, 48), 4 * unit, 4 * unit)], shine),
    ...glows,
  ];
}

function smoke(stage: Stage, [x, y]: Point, u: number): Layer[] {
  const draw = stage.random("smoke");
  const drift = draw.between(-1, 1);
  const color = mix(stage.light.haze, [255, 255, 255], 0.45);
  return Array.from({ length: 9 }, (_, i) =>
    glow(
      x + (drift * i * i * 0.55 + draw.between(-1, 1)) * u,
      y - (4 + i * 5.5) * u,
      (5 + i * 1.5) * u,
      color,
      0.55 - i * 0.05,
    ),
  );
}
