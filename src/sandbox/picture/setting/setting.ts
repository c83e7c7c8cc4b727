import type { Layer } from "../canvas/layer.ts";

/** Where a subject stands or floats. Lengths in pixels. */
export interface Spot {
  readonly x: number;
  /** The ground or the surface of the water. */
  readonly y: number;
  /** Room upwards and to both sides: a subject keeps within it. */
  readonly height: number;
  readonly reach: number;
}

/** How a subject wants to be carried. */
export type Footing = "ground" | "water" | "none";

/** A landscape. Its parts are painted in this order, with the subject between `back` and `front`. */
export interface Setting {
  readonly back: readonly Layer[];
  /** Where water begins that mirrors everything painted so far; without it there is none. */
  readonly waterline?: number;
  readonly front: readonly Layer[];
  readonly spot: Spot;
}
