import { fill } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { circle } from "../canvas/outline.ts";
import { hex, type Rgb } from "../color/rgb.ts";
import type { Random } from "../seed/random.ts";
import type { Stage } from "./stage.ts";

const TINTS: readonly [Rgb, ...Rgb[]] = [hex("ffffff"), hex("cfe0ff"), hex("fff0d0")];

/** Stars over the whole sky; `amount` 1 is a clear night, 0 is none. */
export function stars(stage: Stage, amount: number): Layer[] {
  if (amount <= 0) return [];
  const draw = stage.random("stars");
  const count = Math.round(Math.min(2400, (260 * stage.width * stage.horizon) / stage.unit ** 2) * amount);
  const faint = Array.from({ length: count }, () => star(stage, draw, 0.0008, 0.0014));
  const bright = Array.from({ length: Math.ceil(count / 5) }, () => star(stage, draw, 0.0014, 0.0026));
  const sparkling = Array.from({ length: Math.ceil(count / 40) }, () => spark(stage, draw));
  return [
    fill(faint, draw.pick(TINTS), 0.55 * amount),
    fill(bright, draw.pick(TINTS), 0.9 * amount),
    ...sparkling,
  ];
}

function star(stage: Stage, draw: Random, smallest: number, largest: number) {
  // Squared, so that the sky thins out towards the hazy horizon.
  const y = stage.horizon * (1 - Math.sqrt(1 - draw.next())) * 0.98;
  return circle(draw.between(0, stage.width), y, stage.unit * draw.between(smallest, largest));
}

function spark(stage: Stage, draw: Random): Layer {
  const y = stage.horizon * draw.between(0, 0.7);
  return glow(
    draw.between(0, stage.width),
    y,
    stage.unit * draw.between(0.006, 0.014),
    draw.pick(TINTS),
    0.9,
  );
}
