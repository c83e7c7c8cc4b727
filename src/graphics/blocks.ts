import type { Pixels } from "./decoder.ts";

const HALF_BLOCK = "▀";

/** Draws pixels as half blocks, two of them one above the other in each character. */
export function blockPicture({ data, width, height }: Pixels, colors: "truecolor" | "256"): string {
  const colorOf = colors === "truecolor" ? trueColor : paletteColor;
  const colorAt = (x: number, y: number) => colorOf(data.subarray((y * width + x) * 4));
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

/** A pixel's colour, as the sequences name it. */
function trueColor([red, green, blue]: Uint8Array): string {
  return `2;${red};${green};${blue}`;
}

const CUBE = [0, 95, 135, 175, 215, 255];

/** The nearest colour of the 6×6×6 cube, or of the greys if that is nearer. */
function paletteColor(pixel: Uint8Array): string {
  const color = [...pixel.subarray(0, 3)];
  const steps = color.map((value) =>
    value < 48 ? 0 : value < 115 ? 1 : Math.min(5, Math.floor((value - 35) / 40)),
  );
  const [red = 0, green = 0, blue = 0] = steps;
  const mean = color.reduce((sum, value) => sum + value, 0) / 3;
  const grey = Math.min(23, Math.max(0, Math.round((mean - 8) / 10)));
  const inCube = steps.map((step) => CUBE[step] ?? 0);
  const inGreys = steps.map(() => 8 + 10 * grey);
  const isGrey = distance(color, inGreys) < distance(color, inCube);
  return `5;${isGrey ? 232 + grey : 16 + 36 * red + 6 * green + blue}`;
}

function distance(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, at) => sum + (value - (other[at] ?? 0)) ** 2, 0);
}
