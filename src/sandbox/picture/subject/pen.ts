import type { Contour, Point } from "../canvas/outline.ts";
import type { Spot } from "../setting/setting.ts";

/** Draws in units of the figure: `x` from its middle towards `side`, `up` from the ground. */
export interface Pen {
  /** The length of a unit in pixels. */
  readonly unit: number;
  readonly side: 1 | -1;
  at(x: number, up: number): Point;
  /** A box whose corner is at (`x`, `up`), and which reaches on and down from there. */
  box(x: number, up: number, wide: number, tall: number): Contour;
}

/** A pen for a figure that many units high, and half that many wide to either side. */
export function penFor(spot: Spot, tall: number, halfWidth: number, side: 1 | -1): Pen {
  const unit = Math.min(spot.height / tall, spot.reach / halfWidth);
  const at = (x: number, up: number): Point => [spot.x + x * unit * side, spot.y - up * unit];
  return {
    unit,
    side,
    at,
    box: (x, up, wide, high) => [at(x, up), at(x + wide, up), at(x + wide, up - high), at(x, up - high)],
  };
}
