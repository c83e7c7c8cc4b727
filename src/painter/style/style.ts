import type { Random } from "../random.ts";
import type { Brief } from "../words/brief.ts";

/** Paints the complete row `y`, three bytes to the pixel. Rows come from top to bottom, each once. */
export type RowPainter = (y: number, into: Uint8ClampedArray) => void;

/** Whatever takes longer than a few rows is awaited, so that others get their turn. */
export type Style = (brief: Brief, width: number, height: number) => RowPainter | Promise<RowPainter>;

const SIZE = 256;

/** The tooth of a sheet of paper, from -1 to 1 at each pixel; repeats after 256 pixels. */
type Paper = (x: number, y: number) => number;

/** White noise, smoothed a little: grains of two or three pixels. */
export function paperGrain(draw: Random): Paper {
  const rough = new Float32Array(SIZE * SIZE).map(() => draw.between(-1, 1));
  const at = (i: number) => rough[i & (SIZE * SIZE - 1)] as number;
  const smooth = rough.map((value, i) => (value + at(i + 1) + at(i + SIZE) + at(i + SIZE + 1)) * 0.6);
  return (x, y) => smooth[(y & (SIZE - 1)) * SIZE + (x & (SIZE - 1))] as number;
}

/** Brushes and pencils are no finer than this many pixels to the longer side can show. */
const MOST = 2048;

/** A style that paints at most 2K, and a larger picture at half its size, enlarged smoothly. */
export function enlarged(style: Style): Style {
  return async (brief, width, height) => {
    if (Math.max(width, height) <= MOST) return style(brief, width, height);
    const [across, down] = [Math.ceil(width / 2), Math.ceil(height / 2)];
    return doubled(await style(brief, across, down), across, down);
  };
}

/** Every row of `paint` twice, the second time half way to the next one, and every pixel likewise. */
function doubled(paint: RowPainter, across: number, down: number): RowPainter {
  let [above, below] = [new Uint8ClampedArray(across * 3), new Uint8ClampedArray(across * 3)];
  const between = new Uint8ClampedArray(across * 3);
  paint(0, below);
  return (y, into) => {
    if (y % 2 === 0) {
      [above, below] = [below, above];
      if (y / 2 + 1 < down) paint(y / 2 + 1, below);
      else below.set(above);
    }
    const source = y % 2 === 0 ? above : between;
    if (y % 2 === 1)
      for (let i = 0; i < between.length; i++)
        between[i] = ((above[i] as number) + (below[i] as number)) >> 1;
    for (let from = 0, at = 0; at < into.length; from += 3, at += 6) {
      const next = from + 3 < source.length ? from + 3 : from;
      for (let c = 0; c < 3; c++) {
        into[at + c] = source[from + c] as number;
        into[at + 3 + c] = ((source[from + c] as number) + (source[next + c] as number)) >> 1;
      }
    }
  };
}
