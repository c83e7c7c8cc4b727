import { mix, type Rgb } from "../color/rgb.ts";
import { blend } from "./blend.ts";
import { markCoverage } from "./coverage.ts";
import { edgesOf } from "./edges.ts";
import type { Layer, Row } from "./layer.ts";
import type { Outline } from "./outline.ts";

/** Writes red, green, blue (0 to 255) and opacity (0 to 1) of one pixel into `into`. */
export type Shader = (x: number, y: number, into: Float32Array) => void;

/** A shape in one colour. */
export function fill(outline: Outline, color: Rgb, opacity = 1): Layer {
  return fillRows(outline, () => color, opacity);
}

/** A shape whose colour runs from `upper` at its top to `lower` at its bottom. */
export function fillFading(outline: Outline, upper: Rgb, lower: Rgb, opacity = 1): Layer {
  const layer: Layer = fillRows(
    outline,
    (y) => mix(upper, lower, (y - layer.top) / (layer.bottom - layer.top)),
    opacity,
  );
  return layer;
}

/** A shape with one colour to each row. */
export function fillRows(outline: Outline, colorAt: (y: number) => Rgb, opacity = 1): Layer {
  const edges = edgesOf(outline);
  return {
    top: edges.top,
    bottom: edges.bottom,
    paint(row, y) {
      markCoverage(edges, row, y);
      flood(row, colorAt(y), opacity);
    },
  };
}

/** A shape whose every pixel is coloured by `shader`. */
export function fillShaded(outline: Outline, shader: Shader): Layer {
  const edges = edgesOf(outline);
  const color = new Float32Array(4);
  return {
    top: edges.top,
    bottom: edges.bottom,
    paint(row, y) {
      markCoverage(edges, row, y);
      const { pixels, mask, marked } = row;
      let sum = 0;
      for (let x = marked.from; x < marked.to; x++) {
        sum += mask[x] as number;
        mask[x] = 0;
        const covered = Math.min(1, Math.abs(sum));
        if (covered < 0.004) continue;
        color[3] = 1;
        shader(x, y, color);
        const share = covered * (color[3] as number);
        const at = x * 3;
        for (let c = 0; c < 3; c++) {
          const below = pixels[at + c] as number;
          pixels[at + c] = below + ((color[c] as number) - below) * share;
        }
      }
      settle(row);
    },
  };
}

function flood(row: Row, color: Rgb, opacity: number): void {
  const { pixels, mask, marked } = row;
  let sum = 0;
  for (let x = marked.from; x < marked.to; x++) {
    sum += mask[x] as number;
    mask[x] = 0;
    const covered = Math.abs(sum);
    if (covered < 0.004) continue;
    blend(pixels, x * 3, color, Math.min(1, covered) * opacity);
  }
  settle(row);
}

/** What lies right of the frame is marked past the last pixel; nobody reads it. */
function settle(row: Row): void {
  row.mask.fill(0, row.width);
}
