import type { Pixels } from "./decoder.ts";

/** Draws pixels as half blocks, two of them one above the other in each character. */
export function blockPicture({ data, width, height }: Pixels, colors: "truecolor" | "256"): string {
  const colorAt = colors === "truecolor" ? trueColor : paletteColor;
  const at = (x: number, y: number) => colorAt(data.subarray((y * width + x) * 4));
  let text = "";
  for (let y = 0; y + 1 < height; y += 2) {
    let before = "";
    for (let x = 0; x < width; x++) {
      const paint = `\u001b[38;${at(x, y)};48;${at(x, y + 1)}m`;
      text += paint === before ? HALF_BLOCK : paint + HALF_BLOCK;
      before = paint;
    }
    text += "\u001b[0m\n";
  }
  return text;
}

const HALF_BLOCK = "▀";

function trueColor([red, green, blue]: Uint8Array): string {
  return `2;${red};${green};${blue}`;
}

/** The nearest colour of the 6×6×6 cube, or of the greys if that is nearer. */
function paletteColor([red = 0, green = 0, blue = 0]: Uint8Array): string {
  const color = [red, green, blue];
  const steps = color.map(nearestStep);
  const grey = Math.min(23, Math.max(0, Math.round(((red + green + blue) / 3 - 8) / 10)));
  const isGrey =
    distance(color, [8 + 10 * grey, 8 + 10 * grey, 8 + 10 * grey]) <
    distance(
      color,
      steps.map((step) => CUBE[step] ?? 0),
    );
  const [r = 0, g = 0, b = 0] = steps;
  return `5;${isGrey ? 232 + grey : 16 + 36 * r + 6 * g + b}`;
}

const CUBE = [0, 95, 135, 175, 215, 255];

function nearestStep(value: number): number {
  return value < 48 ? 0 : value < 115 ? 1 : Math.min(5, Math.floor((value - 35) / 40));
}

function distance(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, at) => sum + (value - (other[at] ?? 0)) ** 2, 0);
}
