import { blend } from "./fill.ts";
import type { Layer } from "./layer.ts";
import type { Rgb } from "./rgb.ts";

/** Light around a point that fades to nothing at `radius` pixels; `strength` is its share at the centre. */
export function glow(x: number, y: number, radius: number, color: Rgb, strength: number): Layer {
  return {
    top: Math.floor(y - radius),
    bottom: Math.ceil(y + radius),
    paint({ pixels, width }, rowY) {
      const down = (rowY + 0.5 - y) / radius;
      const reach = radius * Math.sqrt(Math.max(0, 1 - down * down));
      const end = Math.min(width, Math.ceil(x + reach));
      for (let column = Math.max(0, Math.floor(x - reach)); column < end; column++) {
        const across = (column + 0.5 - x) / radius;
        const left = 1 - across * across - down * down;
        if (left > 0) blend(pixels, column * 3, color, strength * left * left * left);
      }
    },
  };
}
