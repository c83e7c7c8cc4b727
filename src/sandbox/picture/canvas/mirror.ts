import type { Rgb } from "../color/rgb.ts";
import type { Noise } from "../seed/noise.ts";
import { blankRow, type Layer, paintLayers, type Row } from "./layer.ts";
import { softly, softStep } from "./soft.ts";

/** Still or moving water that shows `layers` upside down. Lengths in pixels. */
interface Water {
  /** Where the water begins, and where it ends towards the viewer. */
  readonly line: number;
  readonly bottom: number;
  /** Its own colour, and how much of it hides the reflection: at the line, and at the viewer's feet. */
  readonly color: Rgb;
  readonly veil: readonly [far: number, near: number];
  /** How far waves at the viewer's feet move what they reflect. */
  readonly swell: number;
  readonly noise: Noise;
  /** The water is there already, and only gets this reflection on top. */
  readonly overlay?: boolean;
}

export function water(layers: readonly Layer[], spec: Water): Layer {
  const { line, bottom, swell, noise } = spec;
  // What is above the line may be lower than the water is deep: then the reflection is stretched.
  const stretch = Math.min(1, line / Math.max(1, bottom - line));
  const shore = Math.ceil(line) - 1;
  let scratch: Row | undefined;
  let shift = new Float32Array(0);
  return {
    top: Math.round(line),
    bottom: Math.ceil(bottom),
    paint(row, y) {
      if (scratch?.width !== row.width) scratch = blankRow(row.width);
      if (shift.length !== row.width) shift = new Float32Array(row.width);
      const depth = (y + 0.5 - line) / (bottom - line);
      const ripple = waveLength(depth, swell);
      const sway = swell * depth * 0.6 * noise(y / ripple, 3.7);
      const source = Math.floor(line - (y + 0.5 - line) * stretch - Math.abs(sway));
      if (spec.overlay) scratch.pixels.set(row.pixels);
      // Never below the line: there, nothing but sky may be painted yet.
      paintLayers(layers, scratch, Math.min(shore, Math.max(0, source)));
      softly(shift, softStep(row.width), (x) => swell * (0.08 + depth) * noise(x / (ripple * 7), y / ripple));
      const veil = spec.veil[0] + (spec.veil[1] - spec.veil[0]) * depth;
      if (spec.overlay) lay(row, scratch, shift, 1 - veil);
      else cover(row, scratch, shift, spec.color, veil);
    },
  };
}

/** Height of a wave on the screen, in pixels: small far out, large near by. */
export function waveLength(depth: number, swell: number): number {
  return Math.max(0.5, swell * (0.06 + 0.42 * depth));
}

function cover(row: Row, source: Row, shift: Float32Array, color: Rgb, veil: number): void {
  const last = row.width - 1;
  for (let x = 0; x <= last; x++) {
    const from = Math.min(last, Math.max(0, Math.round(x + (shift[x] as number)))) * 3;
    for (let c = 0; c < 3; c++) {
      const seen = source.pixels[from + c] as number;
      row.pixels[x * 3 + c] = seen + ((color[c] as number) - seen) * veil;
    }
  }
}

function lay(row: Row, source: Row, shift: Float32Array, opacity: number): void {
  const last = row.width - 1;
  for (let x = 0; x <= last; x++) {
    const from = Math.min(last, Math.max(0, Math.round(x + (shift[x] as number)))) * 3;
    for (let c = 0; c < 3; c++) {
      const below = row.pixels[x * 3 + c] as number;
      row.pixels[x * 3 + c] = below + ((source.pixels[from + c] as number) - below) * opacity;
    }
  }
}
