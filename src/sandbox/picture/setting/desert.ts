import { fill, fillFading, fillShaded } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { ellipse, type Outline, ribbon } from "../canvas/outline.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import { landUnder, type Ridge, ridgeAt } from "../scene/ridge.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Random } from "../seed/random.ts";
import type { Footing, Setting, Spot } from "./setting.ts";

const SAND = hex("d9985a");

/** Dunes, lit on one side, with a few cacti. */
export function desert(stage: Stage, footing: Footing): Setting {
  const { width, height, horizon, unit } = stage;
  const draw = stage.random("desert");
  const depth = height - horizon;
  const dunes = [0, 0.16, 0.36, 0.62].map(
    (down, i): Ridge => ({
      base: horizon + depth * down,
      rise: unit * (0.06 + 0.03 * i),
      span: unit * draw.between(0.55, 0.85),
      roughness: 1,
      offset: draw.between(0, 200),
    }),
  );
  const ground = dunes[2] as Ridge;
  const x = width * (lightSide(stage) > 0 ? draw.between(0.3, 0.4) : draw.between(0.6, 0.7));
  const spot: Spot = {
    x,
    y: ridgeAt(stage, ground, x) + unit * 0.02,
    height: Math.min(unit * 0.44, horizon * 0.7),
    reach: Math.min(unit * 0.3, width * 0.28),
  };
  const layers = dunes.map((dune, i) => duneLayer(stage, dune, 0.5 - 0.15 * i));
  return {
    back: [...mesas(stage, draw), ...layers.slice(0, 3)],
    front: [...(layers[3] ? [layers[3]] : []), ...cacti(stage, draw, dunes[3] as Ridge)],
    spot: footing === "none" ? { ...spot, y: horizon * 0.55 } : spot,
  };
}

/** The lee side of a crest lies in shadow, and both sides carry ripples. */
function duneLayer(stage: Stage, dune: Ridge, distance: number): Layer {
  const { unit, noise } = stage;
  const bright = mix(lit(stage, SAND, distance), stage.light.glow, 0.25);
  const shadow = lit(stage, brighter(SAND, 0.52), distance);
  const side = lightSide(stage);
  const crest = Float32Array.from({ length: stage.width }, (_, x) => ridgeAt(stage, dune, x));
  const reach = Math.max(1, Math.round(unit * 0.03));
  return fillShaded([landUnder(stage, dune, stage.height)], (x, y, into) => {
    const depth = y - (crest[x] as number);
    const from = Math.min(stage.width - 1, Math.max(0, Math.round(x - side * depth * 0.9)));
    const slope =
      ((crest[Math.min(stage.width - 1, from + reach)] as number) -
        (crest[Math.max(0, from - reach)] as number)) /
      reach;
    const ripple = 0.05 * noise(x / (unit * 0.03), y / (unit * 0.007));
    const share =
      Math.min(1, Math.max(0.08, 0.5 - side * slope * 1.6 + ripple)) * (1 - Math.min(0.35, depth / unit));
    for (let c = 0; c < 3; c++)
      into[c] = (shadow[c] as number) + ((bright[c] as number) - (shadow[c] as number)) * share;
  });
}

function mesas(stage: Stage, draw: Random): Layer[] {
  const { width, unit, horizon } = stage;
  const tables = Array.from({ length: Math.ceil((width / unit) * 2) }, () => {
    const x = draw.between(0, width);
    const wide = unit * draw.between(0.08, 0.2);
    const tall = unit * draw.between(0.06, 0.14);
    return [
      [x - wide * 0.72, horizon - tall],
      [x + wide * 0.7, horizon - tall * 0.97],
      [x + wide * 0.85, horizon - tall * 0.4],
      [x + wide * 1.3, horizon + unit * 0.08],
      [x - wide * 1.3, horizon + unit * 0.08],
      [x - wide * 0.88, horizon - tall * 0.4],
    ] as const;
  });
  const color = lit(stage, hex("a8604a"), 0.5);
  return [fillFading(tables, color, mix(color, stage.light.haze, 0.6))];
}

function cacti(stage: Stage, draw: Random, dune: Ridge): Layer[] {
  const { width, unit } = stage;
  const plants = Array.from({ length: Math.max(2, Math.round((width / unit) * 3)) }, () => {
    const x = draw.between(0.02, 0.98) * width;
    return cactus(draw, x, ridgeAt(stage, dune, x) + unit * 0.02, unit * draw.between(0.09, 0.22));
  });
  const green = lit(stage, brighter(hex("4f7a4a"), 0.75));
  return [fill(plants.flat(), green)];
}

function cactus(draw: Random, x: number, y: number, tall: number): Outline {
  const wide = tall * 0.16;
  const arm = (side: number, from: number, to: number) =>
    ribbon(
      [
        [x, y - tall * from],
        [x + side * wide * 1.6, y - tall * from],
        [x + side * wide * 1.95, y - tall * (from + 0.06)],
        [x + side * wide * 1.95, y - tall * to],
      ],
      () => wide * 0.72,
    );
  const tip = (side: number, to: number) =>
    ellipse(x + side * wide * 1.95, y - tall * to, wide * 0.36, wide * 0.36);
  const [left, right] = [draw.between(0.62, 0.8), draw.between(0.66, 0.86)];
  return [
    ribbon(
      [
        [x, y],
        [x, y - tall],
      ],
      () => wide,
    ),
    ellipse(x, y - tall, wide / 2, wide / 2),
    arm(-1, 0.4, left),
    tip(-1, left),
    arm(1, 0.52, right),
    tip(1, right),
  ];
}
