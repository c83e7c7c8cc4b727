import { blankRow, paintLayers } from "../canvas/layer.ts";
import { hex, luminanceAt } from "../canvas/rgb.ts";
import { composeScene } from "../scene/compose.ts";
import type { Style } from "./style.ts";

const GRAIN = 1 << 15;

/** The scene as it is, with a little grain, so that skies show no steps. */
export const plain: Style = (brief, width, height) => {
  const { layers, stage } = composeScene(brief, width, height);
  const row = blankRow(width);
  const draw = stage.random("grain");
  const grain = new Float32Array(GRAIN).map(() => draw.between(-1, 1));
  return (y, into) => {
    paintLayers(layers, row, y);
    const shift = Math.imul(y, 7919);
    const { pixels } = row;
    for (let x = 0, i = 0; x < width; x++) {
      const speck = grain[(x + shift) & (GRAIN - 1)] as number;
      into[i] = (pixels[i++] as number) + speck;
      into[i] = (pixels[i++] as number) + speck;
      into[i] = (pixels[i++] as number) + speck;
    }
  };
};

const CELLS = 120;
const TONE = 255 / 9;
/** Ordered dithering: the share each cell of a 4 by 4 square adds before rounding. */
const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5].map((rank) => (rank / 16 - 0.47) * 0.6);

/** Big square pixels in few tones, with a hint of the grid between them. */
export const pixels: Style = (brief, width, height) => {
  const cell = Math.max(1, Math.round(Math.sqrt(width * height) / CELLS));
  const columns = Math.ceil(width / cell);
  const { layers } = composeScene(brief, columns, Math.ceil(height / cell));
  const row = blankRow(columns);
  return (y, into) => {
    const line = Math.floor(y / cell);
    if (y % cell === 0) {
      paintLayers(layers, row, line);
      for (let x = 0; x < columns; x++) reduce(row.pixels, x * 3, BAYER[(line & 3) * 4 + (x & 3)] as number);
    }
    const seam = cell > 4 && y % cell === cell - 1;
    for (let x = 0; x < width; x++) {
      const from = Math.floor(x / cell) * 3;
      const dim = seam || (cell > 4 && x % cell === cell - 1) ? 0.9 : 1;
      for (let c = 0; c < 3; c++) into[x * 3 + c] = (row.pixels[from + c] as number) * dim;
    }
  };
};

function reduce(colors: Float32Array, at: number, threshold: number): void {
  const grey = luminanceAt(colors, at);
  for (let c = at; c < at + 3; c++) {
    const vivid = grey + ((colors[c] as number) - grey) * 1.2;
    colors[c] = Math.min(255, Math.max(0, Math.round(vivid / TONE + threshold) * TONE));
  }
}

const STEPS = 7;
const PAPER = hex("f6efdf");

/** Few flat tones, each with a narrow soft edge, and a paper margin, like a printed travel poster. */
export const poster: Style = (brief, width, height) => {
  const { layers } = composeScene(brief, width, height);
  const row = blankRow(width);
  const margin = Math.round(Math.min(width, height) * 0.045);
  const paper = new Uint8ClampedArray(width * 3).map((_, i) => PAPER[i % 3] as number);
  return (y, into) => {
    paintLayers(layers, row, y);
    into.set(paper);
    if (y < margin || y >= height - margin) return;
    const { pixels } = row;
    for (let at = margin * 3; at < (width - margin) * 3; at += 3) {
      const bright = Math.max(1, luminanceAt(pixels, at));
      const place = (bright / 255) * STEPS;
      const step = Math.floor(place);
      const level = step + Math.min(1, Math.max(0, (place - step - 0.46) * 12));
      // The hue is kept, the brightness stepped.
      const grey = (level / STEPS) * 245 + 8 - bright * 1.25;
      into[at] = grey + (pixels[at] as number) * 1.25;
      into[at + 1] = grey + (pixels[at + 1] as number) * 1.25;
      into[at + 2] = grey + (pixels[at + 2] as number) * 1.25;
    }
  };
};
