import { softField, softStep } from "../canvas/field.ts";
import type { Layer } from "../canvas/layer.ts";
import { brighter, mix } from "../canvas/rgb.ts";
import { lit, type Stage } from "./stage.ts";

/** Reflections are kept in no finer detail than this, however wide the picture is. */
const MOST_COLUMNS = 1024;

/**
 * Water from the horizon down that mirrors what is painted above it. The first layer goes on top of all that is to
 * be mirrored, the second one is the water.
 */
export function mirror(stage: Stage): [keep: Layer, water: Layer] {
  const { width, height, horizon, land } = stage;
  const [line, bottom] = [Math.round(horizon), Math.ceil(height)];
  const scale = Math.min(1, MOST_COLUMNS / width);
  const [columns, rows] = [Math.ceil(width * scale), Math.max(1, Math.ceil(line * scale))];
  const kept = new Uint8ClampedArray(columns * rows * 3);
  // What is above the line may be lower than the water is deep: then the reflection is stretched.
  const stretch = Math.min(1, line / Math.max(1, bottom - line));
  const color = lit(stage, land.water);
  const keep: Layer = {
    top: 0,
    bottom: line,
    paint({ pixels }, y) {
      const offset = Math.min(rows - 1, Math.floor(y * scale)) * columns * 3;
      for (let x = 0; x < columns; x++) {
        const from = Math.floor(x / scale) * 3;
        for (let c = 0; c < 3; c++) kept[offset + x * 3 + c] = pixels[from + c] as number;
      }
    },
  };
  const water: Layer = {
    top: line,
    bottom,
    paint({ pixels }, y) {
      const depth = (y - line) / (bottom - line);
      const clear = 0.88 - 0.48 * depth;
      const source = Math.max(0, Math.floor((line - 1 - (y - line) * stretch) * scale));
      const offset = source * columns * 3;
      const [red, green, blue] = brighter(color, 1 - clear);
      for (let x = 0, at = 0; x < width; x++, at += 3) {
        const from = offset + Math.floor(x * scale) * 3;
        pixels[at] = (kept[from] as number) * clear + red;
        pixels[at + 1] = (kept[from + 1] as number) * clear + green;
        pixels[at + 2] = (kept[from + 2] as number) * clear + blue;
      }
    },
  };
  return [keep, water];
}

/** Waves, which shift what the water shows to the left and right, and the broken light of the sun on them. */
export function waves(stage: Stage): Layer {
  const { width, height, horizon, unit, noise, orb, light } = stage;
  const line = Math.round(horizon);
  const swell = unit * 0.03;
  const step = softStep(width);
  const rippleAt = (y: number) => Math.max(0.5, swell * (0.06 + (0.42 * (y - line)) / (height - line)));
  const shifts = softField(width, step, 1, (x, y, into, at) => {
    const ripple = rippleAt(y);
    into[at] = swell * (0.08 + (y - line) / (height - line)) * noise(x / (ripple * 7), y / ripple);
  });
  const [shift, source] = [new Float32Array(width), new Float32Array(width * 3)];
  const shine = mix(light.orb, light.glow, 0.25);
  return {
    top: line,
    bottom: Math.ceil(height),
    paint({ pixels }, y) {
      shifts(y, shift);
      source.set(pixels);
      const depth = (y + 0.5 - line) / (height - line);
      const ripple = rippleAt(y);
      const spread = orb.radius * (0.9 + 2.4 * depth) + unit * 0.03 * noise(y / ripple / 2, 8.1);
      for (let x = 0, at = 0; x < width; x++, at += 3) {
        const from = Math.min(width - 1, Math.max(0, Math.round(x + (shift[x] as number)))) * 3;
        const off = Math.abs(x - orb.x) / spread;
        const wave = off < 2.2 ? noise(x / (ripple * 5) + 31, y / ripple) + 0.75 - off * 0.8 : 0;
        const share = Math.min(0.8, Math.max(0, wave * 1.6)) * (1 - depth * 0.45);
        for (let c = 0; c < 3; c++) {
          const below = source[from + c] as number;
          pixels[at + c] = below + ((shine[c] as number) - below) * share;
        }
      }
    },
  };
}
