import { blankRow, paintLayers, type Row } from "../canvas/layer.ts";
import { luminance } from "../color/grade.ts";
import { hex, type Rgb } from "../color/rgb.ts";
import { composeScene } from "../scene/scene.ts";
import { byRow, type Style, toByte } from "./style.ts";

const STEPS = 7;
const PAPER: Rgb = hex("f6efdf");

/** Few flat tones and a paper margin, like a printed travel poster. */
export const poster: Style = (brief, width, height) => {
  const { layers } = composeScene(brief, width, height);
  const row = blankRow(width);
  const margin = Math.round(Math.min(width, height) * 0.045);
  const inside = (at: number, size: number) => at >= margin && at < size - margin;
  return byRow(width, (y, into) => {
    const printed = inside(y, height);
    if (printed) paintLayers(layers, row, y);
    for (let x = 0; x < width; x++) {
      if (printed && inside(x, width)) print(row, x * 3, into);
      else into.set(PAPER, x * 3);
    }
  });
};

/** Keeps the hue and steps the brightness, each step with a narrow soft edge. */
function print({ pixels }: Row, at: number, into: Uint8Array): void {
  const bright = Math.max(1, luminance(pixels, at));
  const place = (bright / 255) * STEPS;
  const step = Math.floor(place);
  const level = step + Math.min(1, Math.max(0, (place - step - 0.46) * 12));
  const grey = (level / STEPS) * 255;
  for (let c = 0; c < 3; c++) {
    const hue = (pixels[at + c] as number) - bright;
    into[at + c] = toByte(grey * 0.96 + 8 + hue * 1.25);
  }
}
