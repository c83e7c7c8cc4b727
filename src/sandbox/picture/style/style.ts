import type { Brief } from "../words/brief.ts";

/** Paints the complete row `y`, three bytes to the pixel. Rows come from top to bottom, each once. */
export type RowPainter = (y: number, into: Uint8ClampedArray) => void;

/** Whatever takes longer than a few rows is awaited, so that others get their turn. */
export type Style = (brief: Brief, width: number, height: number) => RowPainter | Promise<RowPainter>;
