import { type Brush, brushStrokes } from "./brush.ts";
import { layStroke, loadedBrush, type Wet } from "./stroke.ts";
import { type Style, toByte } from "./style.ts";
import { nearest, type Underpainting, underpaint } from "./underpainting.ts";

/** From the widest brush to the finest, which is only used where there is something to see. */
const BRUSHES: readonly Brush[] = [
  { size: 0.027, detail: 0, elsewhere: 1 },
  { size: 0.013, detail: 2.5, elsewhere: 0.35 },
  { size: 0.0062, detail: 7, elsewhere: 0.03 },
  { size: 0.0036, detail: 18, elsewhere: 0.01 },
];

/** Thick strokes of a brush over a quick underpainting, on canvas. */
export const oil: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  const bristles = loadedBrush(under.stage.noise);
  const strokes = BRUSHES.map((brush, i) => brushStrokes(under, brush, i, width, height));
  return (top, into) => {
    const rows = into.length / (width * 3);
    const wet: Wet = { width, top, rows, pixels: new Float32Array(into.length) };
    prime(wet, under);
    for (const strokesIn of strokes) {
      for (const stroke of strokesIn(top, top + rows)) layStroke(wet, stroke, bristles);
    }
    weave(wet, into, Math.max(2, Math.sqrt(width * height) / 420));
  };
};

/** What shows where no stroke covers the canvas. */
function prime(wet: Wet, under: Underpainting): void {
  for (let row = 0, i = 0; row < wet.rows; row++) {
    for (let x = 0; x < wet.width; x++) {
      const from = nearest(under, x * under.scale, (wet.top + row) * under.scale);
      for (let c = 0; c < 3; c++, i++) wet.pixels[i] = under.pixels[from + c] as number;
    }
  }
}

/** The threads of the canvas under the paint; `thread` is their distance in pixels. */
function weave(wet: Wet, into: Uint8Array, thread: number): void {
  const turns = (2 * Math.PI) / thread;
  const warp = Float32Array.from({ length: wet.width }, (_, x) => Math.sin(x * turns));
  for (let row = 0; row < wet.rows; row++) {
    const weft = Math.sin((wet.top + row) * turns);
    for (let x = 0, i = row * wet.width * 3; x < wet.width; x++) {
      const relief = 1 + 0.022 * weft * (warp[x] as number);
      for (let c = 0; c < 3; c++, i++) into[i] = toByte((wet.pixels[i] as number) * relief);
    }
  }
}
