import { blend } from "../canvas/blend.ts";
import { fill } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer, Row } from "../canvas/layer.ts";
import { circle } from "../canvas/outline.ts";
import { softly, softStep } from "../canvas/soft.ts";
import { brighter, gradient, mix, type Rgb } from "../color/rgb.ts";
import { fractal } from "../seed/noise.ts";
import type { Stage } from "./stage.ts";
import { stars } from "./stars.ts";

/** The sky from the top of the frame to its bottom, with sun or moon, stars and clouds. */
export function sky(stage: Stage): Layer[] {
  return [airLayer(stage), ...stars(stage, stage.light.stars), ...orb(stage), clouds(stage)];
}

function airLayer(stage: Stage): Layer {
  const { light, orb, horizon, unit, height } = stage;
  let share = new Float32Array(0);
  const reach = (unit * (light.moon ? 0.16 : 0.3)) ** 2;
  return {
    top: 0,
    bottom: height,
    paint(row, y) {
      if (share.length !== row.width) share = new Float32Array(row.width);
      const down = (y - orb.y) ** 2 * 1.7;
      softly(share, softStep(row.width), (x) => 0.85 / (1 + ((x - orb.x) ** 2 + down) / reach));
      lighten(row, share, gradient(light.sky, y / horizon), light.glow);
    },
  };
}

function lighten(row: Row, share: Float32Array, from: Rgb, to: Rgb): void {
  const { pixels, width } = row;
  for (let x = 0; x < width; x++) {
    const amount = share[x] as number;
    pixels[x * 3] = from[0] + (to[0] - from[0]) * amount;
    pixels[x * 3 + 1] = from[1] + (to[1] - from[1]) * amount;
    pixels[x * 3 + 2] = from[2] + (to[2] - from[2]) * amount;
  }
}

function orb(stage: Stage): Layer[] {
  const { light, orb } = stage;
  const { x, y, radius } = orb;
  const disc = [glow(x, y, radius * 2.6, light.orb, 0.5), fill([circle(x, y, radius)], light.orb)];
  return light.moon ? [...disc, ...seas(stage)] : disc;
}

/** The dark plains of the moon. */
function seas(stage: Stage): Layer[] {
  const { x, y, radius } = stage.orb;
  const spots = [
    [-0.3, -0.25, 0.3],
    [0.22, 0.1, 0.24],
    [-0.2, 0.35, 0.2],
    [0.35, -0.38, 0.13],
  ] as const;
  const outline = spots.map(([right, down, size]) =>
    circle(x + right * radius, y + down * radius, size * radius),
  );
  return [fill(outline, brighter(stage.light.orb, 0.86), 0.7)];
}

function clouds(stage: Stage): Layer {
  const { unit, horizon, noise, light } = stage;
  const draw = stage.random("clouds");
  const cover = draw.between(0.02, 0.2);
  const drift = draw.between(0, 90);
  let share = new Float32Array(0);
  return {
    top: 0,
    bottom: Math.ceil(horizon),
    paint(row, y) {
      if (share.length !== row.width) share = new Float32Array(row.width);
      const level = y / horizon;
      const flat = unit * (0.2 - 0.14 * level);
      softly(share, softStep(row.width), (x) => {
        const density = fractal(noise, x / (flat * 3.2) + drift, y / flat, 4) - cover;
        return Math.min(0.85, Math.max(0, density * 2.6)) * (1 - level * 0.35);
      });
      const color = mix(light.cloud, light.glow, level * 0.5);
      for (let x = 0; x < row.width; x++) {
        const amount = share[x] as number;
        if (amount > 0.004) blend(row.pixels, x * 3, color, amount);
      }
    },
  };
}
