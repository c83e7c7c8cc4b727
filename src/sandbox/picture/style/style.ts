import type { Brief } from "../brief/brief.ts";

/** Paints complete rows from row `top` on, three bytes to the pixel, until `into` is full. */
type BandPainter = (top: number, into: Uint8Array) => void;

/** A way of painting. Whatever takes longer than a band is awaited, so that others get their turn. */
export type Style = (brief: Brief, width: number, height: number) => BandPainter | Promise<BandPainter>;

/** Calls `paint` for every row of the band, with the bytes of that row. */
export function byRow(width: number, paint: (y: number, into: Uint8Array) => void): BandPainter {
  return (top, into) => {
    const stride = width * 3;
    for (let at = 0; at < into.length; at += stride) paint(top + at / stride, into.subarray(at, at + stride));
  };
}

/** A colour value as a byte. */
export function toByte(value: number): number {
  return Math.min(255, Math.max(0, value));
}
