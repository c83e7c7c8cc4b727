import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { type Contour, type Outline, rectangle } from "../canvas/outline.ts";
import { brighter, hex, mix, type Rgb } from "../color/rgb.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Random } from "../seed/random.ts";
import type { Footing, Setting, Spot } from "./setting.ts";

const CONCRETE: readonly [Rgb, ...Rgb[]] = [hex("8791a3"), hex("a08f86"), hex("6f7d92"), hex("947f8c")];
const WINDOWS: readonly [Rgb, ...Rgb[]] = [hex("ffd98a"), hex("ffeec2"), hex("ffb866")];
const SIGNS: readonly [Rgb, ...Rgb[]] = [hex("ff4fa3"), hex("38e8ff"), hex("ffe14d"), hex("a86bff")];

/** A skyline over the water; a subject that needs ground stands on a roof in front of it. */
export function city(stage: Stage, footing: Footing): Setting {
  const { horizon, height, unit } = stage;
  const ground = footing === "ground" ? horizon + (height - horizon) * 0.7 : horizon;
  const draw = stage.random("city");
  const back = [
    block(stage, draw, ground, 0.62, 0.58),
    block(stage, draw, ground, 0.36, 0.46),
    block(stage, draw, ground, 0.1, 0.32),
  ].flat();
  const spot = spotFor(stage, footing);
  if (footing === "ground") return { back: [...back, ...rooftop(stage, spot)], front: [], spot };
  const quay = fill(
    [rectangle(-1, horizon - unit * 0.012, stage.width + 2, unit * 0.012)],
    lit(stage, hex("3d4048")),
  );
  return { back: [...back, quay], waterline: horizon, front: [], spot };
}

function spotFor(stage: Stage, footing: Footing): Spot {
  const { width, height, horizon, unit } = stage;
  const x = width * (lightSide(stage) > 0 ? 0.34 : 0.66);
  const reach = Math.min(unit * 0.3, width * 0.26);
  if (footing === "none") return { x, y: horizon * 0.45, height: unit * 0.4, reach };
  if (footing === "water") return { x, y: horizon + (height - horizon) * 0.45, height: unit * 0.4, reach };
  return { x, y: height - unit * 0.13, height: Math.min(unit * 0.6, height * 0.6), reach };
}

/** One row of houses: outline, side in shadow, lit windows. */
function block(stage: Stage, draw: Random, ground: number, distance: number, share: number): Layer[] {
  const { width, unit, light } = stage;
  const tallest = Math.min(ground * 0.92, unit * share * 1.3);
  const [houses, panes, signs]: [Contour[], Contour[], Contour[]] = [[], [], []];
  for (let x = -unit * 0.05; x < width; ) {
    const wide = unit * draw.between(0.055, 0.12);
    const crest = 0.55 + 0.45 * stage.noise(x / (unit * 0.45) + distance * 40, 2.2);
    const tall = tallest * (0.22 + 0.78 * crest * draw.between(0.55, 1));
    houses.push(...tower(draw, x, ground, wide, tall));
    panes.push(...windows(draw, x, ground - tall, wide, tall, unit * 0.011, light.lamps));
    if (draw.chance(0.3))
      signs.push(rectangle(x + wide * 0.15, ground - tall * draw.between(0.5, 0.9), wide * 0.1, tall * 0.16));
    x += wide * draw.between(0.86, 1.05);
  }
  const stone = lit(stage, brighter(draw.pick(CONCRETE), 0.85), distance);
  const lamp = mix(brighter(stone, 0.72), draw.pick(WINDOWS), light.lamps * (1 - distance * 0.6));
  const neon = light.stars === 0.7 ? [fill(signs, draw.pick(SIGNS), 1 - distance)] : [];
  return [fillFading(houses, brighter(stone, 0.9), mix(stone, light.haze, 0.3)), fill(panes, lamp), ...neon];
}

function tower(draw: Random, x: number, ground: number, wide: number, tall: number): Outline {
  const body = rectangle(x, ground - tall, wide, tall + 1);
  const top = ground - tall;
  const roof = draw.integer(0, 5);
  if (roof === 0)
    return [
      body,
      rectangle(x + wide * 0.2, top - wide * 0.35, wide * 0.6, wide * 0.4),
      rectangle(x + wide * 0.47, top - wide * 1.3, wide * 0.06, wide),
    ];
  if (roof === 1)
    return [
      body,
      [
        [x, top],
        [x + wide * 0.5, top - wide * 0.9],
        [x + wide, top],
      ],
    ];
  if (roof === 2)
    return [
      body,
      [
        [x, top],
        [x + wide, top - wide * 0.5],
        [x + wide, top],
      ],
    ];
  if (roof === 3) return [body, rectangle(x + wide * 0.15, top - wide * 0.22, wide * 0.25, wide * 0.25)];
  return [body];
}

function windows(
  draw: Random,
  x: number,
  top: number,
  wide: number,
  tall: number,
  pane: number,
  lamps: number,
): Outline {
  const columns = Math.max(2, Math.floor(wide / (pane * 1.9)));
  const rows = Math.floor(tall / (pane * 2.4)) - 1;
  const gap = wide / columns;
  const lively = lamps > 0 ? draw.between(0.18, 0.6) : 0.85;
  const panes: Contour[] = [];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      if (draw.chance(lively))
        panes.push(
          rectangle(
            x + gap * (column + 0.5) - pane * 0.45,
            top + pane * (1.4 + row * 2.4),
            pane * 0.9,
            pane * 1.3,
          ),
        );
  return panes;
}

function rooftop(stage: Stage, spot: Spot): Layer[] {
  const { width, height, unit } = stage;
  const tile = lit(stage, hex("7a4438"));
  const ledge = rectangle(-1, spot.y, width + 2, unit * 0.025);
  const wall = rectangle(-1, spot.y + unit * 0.02, width + 2, height);
  const brick = unit * 0.03;
  const joints: Contour[] = [];
  for (let row = 1; spot.y + row * brick < height; row++) {
    joints.push(rectangle(-1, spot.y + row * brick + unit * 0.02, width + 2, brick * 0.08));
    for (let x = (row % 2) * brick; x < width; x += brick * 2)
      joints.push(rectangle(x, spot.y + row * brick + unit * 0.02 - brick, brick * 0.08, brick));
  }
  return [
    fillFading([wall], brighter(tile, 0.7), brighter(tile, 0.35)),
    fill(joints, brighter(tile, 0.35), 0.7),
    fill([ledge], brighter(tile, 1.25)),
  ];
}
