import type { Random } from "../seed/random.ts";

const SIZE = 256;

/** The tooth of a sheet of paper, from -1 to 1 at each pixel; repeats after 256 pixels. */
type Paper = (x: number, y: number) => number;

/** White noise, smoothed a little: grains of two or three pixels. */
export function paperGrain(draw: Random): Paper {
  const rough = Float32Array.from({ length: SIZE * SIZE }, () => draw.between(-1, 1));
  const at = (x: number, y: number) => rough[(y & (SIZE - 1)) * SIZE + (x & (SIZE - 1))] as number;
  const smooth = rough.map((value, i) => {
    const [x, y] = [i % SIZE, Math.floor(i / SIZE)];
    return (value + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) * 0.6;
  });
  return (x, y) => smooth[(y & (SIZE - 1)) * SIZE + (x & (SIZE - 1))] as number;
}
