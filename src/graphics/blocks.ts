import type { Pixels } from "./decoder.ts";

const HALF_BLOCK = "▀";

/** Draws pixels as half blocks, two of them one above the other in each character. */
export function blockPicture(pixels: Pixels, colors: "truecolor" | "256"): string {
  const { width, height } = pixels;
  const colorAt = colors === "truecolor" ? trueColors(pixels) : paletteColors(pixels);
  let text = "";
  for (let y = 0; y + 1 < height; y += 2) {
    let before = "";
    for (let x = 0; x < width; x++) {
      const paint = `\u001b[38;${colorAt(x, y)};48;${colorAt(x, y + 1)}m`;
      text += paint === before ? HALF_BLOCK : paint + HALF_BLOCK;
      before = paint;
    }
    text += "\u001b[0m\n";
  }
  return text;
}

type ColorAt = (x: number, y: number) => string;

function trueColors({ data, width }: Pixels): ColorAt {
  return (x, y) => {
    const [red, green, blue] = data.subarray((y * width + x) * 4);
    return `2;${red};${green};${blue}`;
  };
}

/**
 * Where the error of a pixel goes (Floyd and Steinberg): to the right, and to three pixels below. A fifth of it is
 * dropped: at this size, all of it is too much noise.
 */
const SHARES = [
  [1, 0, 7 / 20],
  [-1, 1, 3 / 20],
  [0, 1, 5 / 20],
  [1, 1, 1 / 20],
] as const;

/** The nearest of 256 colours, dithered: a sky would have a few broad bands otherwise. */
function paletteColors({ data, width, height }: Pixels): ColorAt {
  const wanted = Float32Array.from(data);
  const numbers = new Uint8Array(width * height);
  for (let at = 0; at < numbers.length; at++) {
    const color = wanted.subarray(at * 4, at * 4 + 3);
    const nearest = nearestColor(color);
    numbers[at] = nearest.number;
    const error = nearest.color.map((value, channel) => (color[channel] ?? 0) - value);
    const x = at % width;
    for (const [right, below, share] of SHARES) {
      if (x + right < 0 || x + right >= width) continue;
      const to = (at + right + below * width) * 4;
      // Past the end of the array, an assignment does nothing.
      for (const [channel, value] of error.entries())
        wanted[to + channel] = (wanted[to + channel] ?? 0) + value * share;
    }
  }
  return (x, y) => `5;${numbers[y * width + x]}`;
}

const CUBE = [0, 95, 135, 175, 215, 255];

/** The nearest colour of the 6×6×6 cube, or of the greys if that is nearer. */
function nearestColor(color: Float32Array): { number: number; color: number[] } {
  const steps = Array.from(color, nearestStep);
  const [red = 0, green = 0, blue = 0] = steps;
  const inCube = steps.map((step) => CUBE[step] ?? 0);
  const mean = color.reduce((sum, value) => sum + value, 0) / 3;
  const grey = Math.min(23, Math.max(0, Math.round((mean - 8) / 10)));
  const inGreys = steps.map(() => 8 + 10 * grey);
  if (distance(color, inGreys) < distance(color, inCube)) return { number: 232 + grey, color: inGreys };
  return { number: 16 + 36 * red + 6 * green + blue, color: inCube };
}

function nearestStep(value: number): number {
  return value < 48 ? 0 : value < 115 ? 1 : Math.min(5, Math.floor((value - 35) / 40));
}

function distance(one: Float32Array, other: readonly number[]): number {
  return one.reduce((sum, value, at) => sum + (value - (other[at] ?? 0)) ** 2, 0);
}
