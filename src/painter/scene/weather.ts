import { fill } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { circle, ribbon } from "../canvas/outline.ts";
import { hex, mix } from "../canvas/rgb.ts";
import { SNOW } from "./drawing.ts";
import type { Stage } from "./stage.ts";

/** Drops of rain or flakes of snow: how many to the size of the picture, how large, how dense. */
const FALLING = {
  snow: [
    [260, 0.0022, 0.75],
    [90, 0.0042, 0.9],
    [16, 0.008, 0.55],
  ],
  rain: [
    [240, 0.0032, 0.35],
    [60, 0.006, 0.35],
  ],
} as const;

/** What falls in front of everything. */
export function weather(stage: Stage): Layer[] {
  const { width, height, unit, light, setting } = stage;
  const kind = stage.weather;
  if (kind === undefined || kind === "mist" || setting === "space") return [];
  const draw = stage.random("weather");
  const slant = draw.between(-2.4, 2.4);
  const color = kind === "snow" ? mix(SNOW, light.haze, 0.1) : mix(light.haze, hex("ffffff"), 0.4);
  return FALLING[kind].map(([many, size, opacity]) => {
    const count = Math.min(900, Math.ceil(((width * height) / unit ** 2) * many));
    const drops = Array.from({ length: count }, () => {
      const [x, y] = [draw.between(0, width), draw.between(0, height)];
      const length = unit * size * draw.between(0.6, 1.3);
      if (kind === "snow") return circle(x, y, length);
      return ribbon(
        [
          [x, y],
          [x + slant * length, y + length * 12],
        ],
        () => Math.max(0.7, length * 0.3),
      );
    });
    return fill(drops, color, opacity);
  });
}
