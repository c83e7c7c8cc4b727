import type { Stroke } from "./stroke.ts";
import { brightness, nearest, type Underpainting } from "./underpainting.ts";

export interface Brush {
  /** Distance between strokes, as a share of the size of the picture. */
  readonly size: number;
  /** How much the brightness must change around a place for this brush to touch it, out of 255. */
  readonly detail: number;
  /** The share of other places it touches all the same, 0 to 1. */
  readonly elsewhere: number;
}

/** All strokes of one brush that may touch the rows from `top` to `bottom`, lowest first. */
type StrokesIn = (top: number, bottom: number) => readonly Stroke[];

const BUCKET_CELLS = 4;

/**
 * Strokes stand on a jittered grid, so those near some rows are found without keeping the others. They
 * follow the outlines of what they show, and elsewhere flow with the noise.
 */
export function brushStrokes(
  under: Underpainting,
  brush: Brush,
  layer: number,
  width: number,
  height: number,
): StrokesIn {
  const cell = Math.max(1.6, Math.sqrt(width * height) * brush.size);
  const columns = Math.ceil(width / cell) + 2;
  const kept = new Map<number, Stroke[]>();
  const bucket = (index: number): Stroke[] => {
    const strokes: Stroke[] = [];
    for (let row = index * BUCKET_CELLS; row < (index + 1) * BUCKET_CELLS; row++) {
      for (let column = -1; column < columns; column++) {
        const stroke = strokeAt(under, brush, cell, layer, column, row);
        if (stroke) strokes.push(stroke);
      }
    }
    return strokes;
  };
  return (top, bottom) => {
    const from = Math.floor((top / cell - 3) / BUCKET_CELLS);
    const to = Math.floor((bottom / cell + 3) / BUCKET_CELLS);
    for (const index of kept.keys()) if (index < from) kept.delete(index);
    for (let index = from; index <= to; index++) if (!kept.has(index)) kept.set(index, bucket(index));
    return [...kept.values()].flat().sort((a, b) => a.order - b.order);
  };
}

function strokeAt(
  under: Underpainting,
  brush: Brush,
  cell: number,
  layer: number,
  column: number,
  row: number,
): Stroke | undefined {
  const chance = lottery(column, row, layer);
  const x = (column + chance()) * cell;
  const y = (row + chance()) * cell;
  const [u, v] = [x * under.scale, y * under.scale];
  const reach = Math.max(1, cell * under.scale * 0.7);
  const right = light(under, u + reach, v) - light(under, u - reach, v);
  const down = light(under, u, v + reach) - light(under, u, v - reach);
  const change = Math.hypot(right, down);
  if (change < brush.detail && chance() > brush.elsewhere) return undefined;
  const flow = under.stage.noise(u / (under.stage.unit * 0.25), v / (under.stage.unit * 0.18)) * 0.9;
  const angle = change > 9 ? Math.atan2(down, right) + Math.PI / 2 : flow;
  const at = nearest(under, u, v);
  const mood = 0.95 + 0.1 * chance();
  const [warm, cool] = [(chance() - 0.5) * 9, (chance() - 0.5) * 9];
  return {
    x,
    y,
    halfLength: cell * (1.15 + 0.6 * chance()) * (change > 60 ? 0.8 : 1),
    halfWidth: cell * (0.48 + 0.2 * chance()),
    cos: Math.cos(angle),
    sin: Math.sin(angle),
    red: (under.pixels[at] as number) * mood + warm,
    green: (under.pixels[at + 1] as number) * mood,
    blue: (under.pixels[at + 2] as number) * mood + cool,
    bristle: chance() * 4000,
    order: chance(),
  };
}

function light(under: Underpainting, x: number, y: number): number {
  return brightness(under, nearest(under, x, y));
}

/** Numbers from 0 to 1 that depend on the cell alone. */
function lottery(column: number, row: number, layer: number): () => number {
  let state =
    Math.imul(column + 7, 0x9e3779b1) ^ Math.imul(row + 131, 0x85ebca6b) ^ Math.imul(layer + 1, 0xc2b2ae35);
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5;
    return ((state ^ (state >>> 13)) >>> 0) / 0x1_0000_0000;
  };
}
