import type { Random } from "../seed/random.ts";

const SIZE = 256;

/** The tooth of a sheet of paper, from -1 to 1 at each pixel; repeats after 256 pixels. */
export type Paper = (x: number, y: number) => number;

/** White noise, smoothed a little: grains of two or three pixels. */
export function paperGrain(draw: Random): Paper {
  const rough = new Float32Array(SIZE * SIZE).map(() => draw.between(-1, 1));
  const at = (i: number) => rough[i & (SIZE * SIZE - 1)] as number;
  const smooth = rough.map((value, i) => (value + at(i + 1) + at(i + SIZE) + at(i + SIZE + 1)) * 0.6);
  return (x, y) => smooth[(y & (SIZE - 1)) * SIZE + (x & (SIZE - 1))] as number;
}
