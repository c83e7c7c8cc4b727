import { blend } from "../canvas/blend.ts";
import type { Layer } from "../canvas/layer.ts";
import { waveLength } from "../canvas/mirror.ts";
import { softly } from "../canvas/soft.ts";
import { mix } from "../color/rgb.ts";
import type { Stage } from "./stage.ts";

/** Light of the sun or moon on the water below it, broken up by waves. */
export function glitter(stage: Stage, line: number, swell: number): Layer {
  const { orb, light, noise, unit, height } = stage;
  const color = mix(light.orb, light.glow, 0.25);
  let share = new Float32Array(0);
  return {
    top: Math.round(line),
    bottom: Math.ceil(height),
    paint(row, y) {
      if (share.length !== row.width) share = new Float32Array(row.width);
      const depth = (y + 0.5 - line) / (height - line);
      const ripple = waveLength(depth, swell);
      const spread = orb.radius * (0.9 + 2.4 * depth) + unit * 0.03 * noise(y / ripple / 2, 8.1);
      const step = Math.max(1, Math.round(ripple / 3));
      softly(share, step, (x) => {
        const off = Math.abs(x - orb.x) / spread;
        if (off > 2.2) return 0;
        const wave = noise(x / (ripple * 5) + 31, y / ripple) + 0.75 - off * 0.8;
        return Math.min(0.8, Math.max(0, wave * 1.6)) * (1 - depth * 0.45);
      });
      const from = Math.max(0, Math.floor(orb.x - spread * 2.5));
      const to = Math.min(row.width, Math.ceil(orb.x + spread * 2.5));
      for (let x = from; x < to; x++) {
        blend(row.pixels, x * 3, color, share[x] as number);
      }
    },
  };
}
