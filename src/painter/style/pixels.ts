import { blankRow, paintLayers } from "../canvas/layer.ts";
import { luminanceAt } from "../canvas/rgb.ts";
import { composeScene } from "../scene/compose.ts";
import type { Style } from "./style.ts";

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
