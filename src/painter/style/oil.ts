import { setImmediate } from "node:timers/promises";
import { blankCanvas, type Canvas, COVERED, layStroke, loadedBrush, type Stroke } from "./stroke.ts";
import type { RowPainter, Style } from "./style.ts";
import { brightnessAt, nearest, type Underpainting, underpaint } from "./underpainting.ts";

interface Brush {
  /** Distance between strokes, as a share of the size of the picture. */
  readonly size: number;
  /** How much the brightness must change around a place for this brush to touch it, out of 255. */
  readonly detail: number;
  /** The share of other places that it paints too, 0 to 1. */
  readonly elsewhere: number;
}

/** From the finest brush, which is only used where there is something to see, to the widest. */
const BRUSHES: readonly Brush[] = [
  { size: 0.005, detail: 11, elsewhere: 0.01 },
  { size: 0.0135, detail: 3, elsewhere: 0.22 },
  { size: 0.026, detail: 4, elsewhere: 0.8 },
];
const ROWS_AT_A_TIME = 12;

/** Thick strokes of a brush over a quick underpainting, on canvas. The topmost strokes are laid first. */
export const oil: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  const canvas = blankCanvas(width, height);
  const bristles = loadedBrush(under.stage.noise);
  const chance = under.stage.random("strokes").next;
  for (const brush of BRUSHES) {
    const cell = Math.max(1.6, Math.sqrt(width * height) * brush.size);
    const [columns, rows] = [Math.ceil(width / cell) + 1, Math.ceil(height / cell) + 1];
    // Every other cell of every other row at a time, so that no side of the strokes is always on top.
    for (const phase of [2, 1, 3, 0]) {
      for (let row = -1 + (phase >> 1); row < rows; row += 2) {
        for (let column = -1 + (phase & 1); column < columns; column += 2) {
          const x = (column + chance()) * cell;
          const y = (row + chance()) * cell;
          // Hardly anything would be seen of a stroke whose middle is covered.
          if ((canvas.bare[nearest(canvas, x, y)] as number) <= COVERED) continue;
          const stroke = strokeAt(under, brush, cell, x, y, chance);
          if (stroke) layStroke(canvas, stroke, bristles);
        }
        if (row % ROWS_AT_A_TIME < 2) await setImmediate();
      }
    }
  }
  return weave(canvas, under);
};

/** Strokes stand on a jittered grid; they follow the outlines of what they show, and elsewhere the noise. */
function strokeAt(
  under: Underpainting,
  brush: Brush,
  cell: number,
  x: number,
  y: number,
  chance: () => number,
): Stroke | undefined {
  const { stage, pixels, scale } = under;
  const u = x * scale;
  const v = y * scale;
  const reach = Math.max(1, cell * scale * 0.7);
  const right = brightnessAt(under, u + reach, v) - brightnessAt(under, u - reach, v);
  const down = brightnessAt(under, u, v + reach) - brightnessAt(under, u, v - reach);
  const change = Math.sqrt(right * right + down * down);
  if (change < brush.detail && chance() > brush.elsewhere) return undefined;
  const drift = () => stage.noise(u / (stage.unit * 0.25), v / (stage.unit * 0.18)) * 0.9;
  const angle = change > 9 ? Math.atan2(down, right) + Math.PI / 2 : drift();
  const at = nearest(under, u, v) * 3;
  const mood = 0.95 + 0.1 * chance();
  return {
    x,
    y,
    halfLength: cell * (1.1 + 0.6 * chance()) * (change > 60 ? 0.8 : 1),
    halfWidth: cell * (0.46 + 0.2 * chance()),
    // A stroke that is level or upright to the last digit would have to divide by zero.
    cos: Math.cos(angle) || 1e-9,
    sin: Math.sin(angle) || 1e-9,
    red: (pixels[at] as number) * mood + (chance() - 0.5) * 9,
    green: (pixels[at + 1] as number) * mood,
    blue: (pixels[at + 2] as number) * mood + (chance() - 0.5) * 9,
    bristle: chance() * 4000,
  };
}

/** The underpainting where no stroke covers it, and the threads of the canvas under the paint. */
function weave({ width, height, pixels, bare }: Canvas, under: Underpainting): RowPainter {
  const turns = (2 * Math.PI) / Math.max(2, Math.sqrt(width * height) / 420);
  const warp = new Float32Array(width).map((_, x) => Math.sin(x * turns) * 0.022);
  return (y, into) => {
    const weft = Math.sin(y * turns);
    const start = nearest(under, 0, y * under.scale);
    for (let x = 0, i = 0, at = y * width; x < width; x++, at++) {
      const relief = 1 + weft * (warp[x] as number);
      const share = (bare[at] as number) / 255;
      const from = (start + Math.min(under.width - 1, Math.floor(x * under.scale))) * 3;
      for (let c = 0; c < 3; c++)
        into[i++] = ((pixels[at * 3 + c] as number) + (under.pixels[from + c] as number) * share) * relief;
    }
  };
}
