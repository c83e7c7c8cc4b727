import { fill, fillFading } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { type Outline, rectangle } from "../canvas/outline.ts";
import { brighter, hex, mix, type Rgb } from "../color/rgb.ts";
import { crown, grass, pine, trunk } from "../scene/plants.ts";
import { landUnder, type Ridge, ridgeAt } from "../scene/ridge.ts";
import { inWinter, snowed } from "../scene/snow.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Random } from "../seed/random.ts";
import type { Footing, Setting, Spot } from "./setting.ts";

const BARK = hex("5a4335");

/** Rows of trees that fade into the mist, around a clearing. */
export function forest(stage: Stage, footing: Footing): Setting {
  const { width, height, unit } = stage;
  const draw = stage.random("forest");
  const floor = floorOf(stage, draw);
  const x = width * (lightSide(stage) > 0 ? draw.between(0.34, 0.44) : draw.between(0.56, 0.66));
  const y = ridgeAt(stage, floor, x) + unit * 0.05;
  const spot: Spot = {
    x,
    y,
    height: Math.min(unit * 0.46, y * 0.5),
    reach: Math.min(unit * 0.3, width * 0.28),
  };
  const conifers = inWinter(stage) || draw.chance(0.5);
  const rows = [0.7, 0.5, 0.32, 0.16].flatMap((distance, i) => row(stage, draw, conifers, distance, i));
  const ground = lit(stage, snowed(stage, stage.land.near, 0.8), 0.12);
  const tufts = grass(
    draw,
    width,
    (at) => ridgeAt(stage, floor, at),
    unit * 0.035,
    Math.round((width / unit) * 160),
  );
  return {
    back: [
      ...rows,
      shine(stage),
      fillFading([landUnder(stage, floor, height)], ground, brighter(ground, 0.42)),
      fill(tufts, brighter(ground, 0.92)),
    ],
    front: frame(stage, draw, footing),
    spot: footing === "none" ? { ...spot, y: stage.horizon * 0.5 } : spot,
  };
}

function floorOf(stage: Stage, draw: Random): Ridge {
  const { height, horizon, unit } = stage;
  return {
    base: horizon + (height - horizon) * 0.42,
    rise: unit * 0.03,
    span: unit * 0.6,
    roughness: 2,
    offset: draw.between(0, 200),
  };
}

function shine(stage: Stage): Layer {
  const { orb, unit, horizon, light } = stage;
  return glow(orb.x, Math.min(orb.y + unit * 0.1, horizon), unit * 0.75, light.glow, 0.6);
}

function row(stage: Stage, draw: Random, conifers: boolean, distance: number, depth: number): Layer[] {
  const { width, height, horizon, unit, land } = stage;
  const base = horizon + (height - horizon) * (0.05 + 0.1 * depth);
  const tall = Math.min(horizon * 0.85, unit * (0.34 + 0.09 * depth));
  const count = Math.min(240, Math.ceil(width / (tall * (conifers ? 0.2 : 0.36))));
  const place = (i: number) => width * ((i + draw.between(0.1, 0.9)) / count);
  const shade = () => {
    const leaf = snowed(stage, draw.pick(land.foliage), 0.3);
    return lit(stage, brighter(leaf, 0.8), distance);
  };
  const color = shade();
  const mist = mix(color, stage.light.haze, 0.5);
  const floor = fillFading([rectangle(-1, base - tall * 0.02, width + 2, height)], mist, color, 0.8);
  if (conifers) {
    const trees = Array.from({ length: count }, (_, i) =>
      pine(draw, place(i), base, tall * draw.between(0.55, 1.05)),
    );
    return [fillFading(trees, color, mist), floor];
  }
  const feet = Array.from({ length: count }, (_, i) => ({ x: place(i), tall: tall * draw.between(0.6, 1) }));
  const bark = fill(
    feet.flatMap((foot) => trunk(draw, foot.x, base, foot.tall)),
    lit(stage, BARK, distance),
  );
  return [bark, ...feet.flatMap((foot) => leaves(draw, foot, base, shade(), mist)), floor];
}

function leaves(
  draw: Random,
  foot: { x: number; tall: number },
  base: number,
  color: Rgb,
  mist: Rgb,
): Layer[] {
  const heap = (size: number, lift: number): Outline => crown(draw, foot.x, base, foot.tall, size, lift);
  return [
    fillFading(heap(1.2, 0), brighter(color, 0.85), mix(color, mist, 0.6)),
    fill(heap(0.55, 0.05), mix(color, mist, 0.12), 0.55),
  ];
}

/** Dark trunks at both edges, near the viewer, where the frame is wide enough for them. */
function frame(stage: Stage, draw: Random, footing: Footing): Layer[] {
  const { width, height, unit } = stage;
  if (width < unit * 0.6) return [];
  const bark = lit(stage, brighter(BARK, 0.45));
  const sides = footing === "none" ? [0.04, 0.2, 0.95] : [0.03, 0.96];
  const trunks = sides.map((at) => {
    const x = width * at + unit * draw.between(-0.02, 0.02);
    const wide = unit * draw.between(0.025, 0.05);
    const lean = unit * draw.between(-0.03, 0.03);
    return [
      [x - wide * 0.8 + lean, -2],
      [x + wide * 0.8 + lean, -2],
      [x + wide, height * 0.8],
      [x + wide * 1.9, height + 2],
      [x - wide * 1.9, height + 2],
      [x - wide, height * 0.8],
    ] as const;
  });
  const fringe = grass(draw, width, () => height, unit * 0.09, Math.round((width / unit) * 110));
  return [fill(trunks, bark), fill(fringe, lit(stage, brighter(stage.land.near, 0.3)))];
}
