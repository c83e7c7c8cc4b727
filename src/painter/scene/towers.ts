import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { type Contour, type Outline, rectangle } from "../canvas/outline.ts";
import { brighter, hexes, mix } from "../canvas/rgb.ts";
import type { Random } from "../random.ts";
import { lit, type Stage } from "./stage.ts";

const CONCRETE = hexes("8791a3 a08f86 6f7d92 947f8c");
const WINDOWS = hexes("ffd98a ffeec2 ffb866");
const SIGNS = hexes("ff4fa3 38e8ff ffe14d a86bff");

/** One row of a skyline: houses, lit windows and, where the light is neon, signs. */
export function towers(stage: Stage, share: number, far: number, ground: number): Layer[] {
  const { width, unit, light, noise } = stage;
  const draw = stage.random(`towers ${far}`);
  const tallest = Math.min(ground * 0.92, unit * share);
  const pane = unit * 0.011;
  const [houses, panes, signs]: [Contour[], Contour[], Contour[]] = [[], [], []];
  for (let x = -unit * 0.05; x < width; ) {
    const wide = unit * draw.between(0.055, 0.12);
    const crest = 0.55 + 0.45 * noise(x / (unit * 0.45) + far * 40, 2.2);
    const top = ground - tallest * (0.22 + 0.78 * crest * draw.between(0.55, 1));
    houses.push(rectangle(x, top, wide, ground - top + 1), ...roof(draw, x, top, wide));
    const lively = light.lamps > 0 ? draw.between(0.18, 0.6) : 0.85;
    for (let y = top + pane * 1.4; y < ground - pane * 2.4; y += pane * 2.4) {
      for (let left = x + pane * 0.5; left < x + wide - pane; left += pane * 1.9) {
        if (draw.chance(lively)) panes.push(rectangle(left, y, pane * 0.9, pane * 1.3));
      }
    }
    if (draw.chance(0.3)) signs.push(rectangle(x + wide * 0.15, top + pane * 4, wide * 0.1, tallest * 0.1));
    x += wide * draw.between(0.86, 1.05);
  }
  const stone = lit(stage, brighter(draw.pick(CONCRETE), 0.85), far);
  const lamp = mix(brighter(stone, 0.72), draw.pick(WINDOWS), light.lamps * (1 - far * 0.6));
  const neon = light.stars === 0.7 ? [fill(signs, draw.pick(SIGNS), 1 - far)] : [];
  return [fillFading(houses, brighter(stone, 0.9), mix(stone, light.haze, 0.3)), fill(panes, lamp), ...neon];
}

/** A mast, a gable, a slanted roof, or nothing. */
function roof(draw: Random, x: number, top: number, wide: number): Outline {
  const kind = draw.integer(0, 4);
  if (kind > 2) return [];
  if (kind === 0) {
    const mast = rectangle(x + wide * 0.47, top - wide * 1.3, wide * 0.06, wide);
    return [mast, rectangle(x + wide * 0.2, top - wide * 0.35, wide * 0.6, wide * 0.4)];
  }
  const [peak, rise] = kind === 1 ? [0.5, 0.9] : [1, 0.5];
  return [
    [
      [x, top],
      [x + wide * peak, top - wide * rise],
      [x + wide, top],
    ],
  ];
}
