/** Red, green and blue, from 0 to 255. The values can be fractions. */
export type Rgb = readonly [red: number, green: number, blue: number];
export type Colors = readonly [Rgb, ...Rgb[]];

/** Parses colours of six hexadecimal digits, such as `ff8a5c`, separated by spaces. */
export function parseColors(list: string): Colors {
  const channel = (digits: string, at: number) => Number.parseInt(digits.slice(at, at + 2), 16);
  const read = (digits: string): Rgb => [channel(digits, 0), channel(digits, 2), channel(digits, 4)];
  return list.split(" ").map(read) as [Rgb, ...Rgb[]];
}

/** Mixes two colours. A share of 0 returns `a`, and a share of 1 returns `b`. */
export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

export type Point = readonly [x: number, y: number];

export interface Shape {
  /** Closed contours, which are painted as one shape even if they overlap. */
  readonly outline: readonly (readonly Point[])[];
  /** One colour, or a gradient from top to bottom. */
  readonly colors: Colors;
  /** Opacity from 0 to 1. */
  readonly opacity: number;
}

type PaintRow = (y: number, into: Uint8Array) => void;

/** Returns a function that paints a row with three bytes per pixel. Call it once for each row, from top to bottom. */
export function createBrush(shapes: readonly Shape[], width: number): PaintRow {
  const mask = new Float32Array(width + 2);
  const painters = shapes.map((shape) => createPainter(shape, mask));
  return (y, into) => {
    for (const paint of painters) paint(y, into);
  };
}

/** Number of sampled lines per row of pixels, for smooth edges. */
const SAMPLES_PER_ROW = 4;

/** @param mask buffer that all shapes share. Between calls, all its values are zero */
function createPainter({ outline, colors, opacity }: Shape, mask: Float32Array): PaintRow {
  const sides = outline.flatMap(contourSides).sort((a, b) => a.top - b.top);
  const top = Math.floor(sides[0]?.top ?? 0);
  const bottom = sides.reduce((lowest, side) => Math.max(lowest, Math.ceil(side.bottom)), top);
  const width = mask.length - 2;
  let nextSide = 0;
  let active: Side[] = [];
  return (y, into) => {
    if (y < top || y >= bottom) return;
    for (let side = sides[nextSide]; side && side.top < y + 1; side = sides[++nextSide]) active.push(side);
    active = active.filter((side) => side.bottom > y);
    let [first, end] = [width, 0];
    for (const side of active)
      for (let line = y + 0.5 / SAMPLES_PER_ROW; line < y + 1; line += 1 / SAMPLES_PER_ROW) {
        if (line < side.top || line >= side.bottom) continue;
        const x = Math.min(width, Math.max(0, side.x + (line - side.top) * side.slope));
        const column = Math.floor(x);
        mask[column] = (mask[column] as number) + side.turn * (column + 1 - x);
        mask[column + 1] = (mask[column + 1] as number) + side.turn * (x - column);
        first = Math.min(first, column);
        end = Math.max(end, column + 2);
      }
    const gradientPosition = ((y - top) / (bottom - top)) * (colors.length - 1);
    const upper = colors[Math.floor(gradientPosition)] ?? colors[0];
    const next = colors[Math.floor(gradientPosition) + 1] ?? upper;
    const [red = 0, green = 0, blue = 0] = mix(upper, next, gradientPosition % 1).map(Math.round);
    for (let x = first, at = first * 3, sum = 0, share = 0; x < end; x++, at += 3) {
      const change = mask[x] as number;
      mask[x] = 0;
      sum += change;
      if (change !== 0) share = Math.round(256 * opacity * Math.min(1, Math.abs(sum)));
      if (share === 0) continue;
      into[at] = ((into[at] as number) * (256 - share) + red * share) >> 8;
      into[at + 1] = ((into[at + 1] as number) * (256 - share) + green * share) >> 8;
      into[at + 2] = ((into[at + 2] as number) * (256 - share) + blue * share) >> 8;
    }
  };
}

/** An edge, which starts at `x` in row `top`. `turn` is the winding direction, divided by the samples per row. */
type Side = Readonly<Record<"top" | "bottom" | "x" | "slope" | "turn", number>>;

/** Returns the edges of a contour. All contours get one winding direction, so that overlaps do not become holes. */
function contourSides(contour: readonly Point[]): Side[] {
  const pairs = contour.map((to, i) => [contour.at(i - 1) ?? to, to] as const);
  const area = pairs.reduce((sum, [from, to]) => sum + from[0] * to[1] - to[0] * from[1], 0);
  return pairs.flatMap(([from, to]): Side[] => {
    const isDown = from[1] < to[1];
    const [[x, top], [endX, bottom]] = isDown ? [from, to] : [to, from];
    const turn = (isDown === area < 0 ? 1 : -1) / SAMPLES_PER_ROW;
    return top === bottom ? [] : [{ top, bottom, x, slope: (endX - x) / (bottom - top), turn }];
  });
}
