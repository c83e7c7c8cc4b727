/** One row of the picture while it is painted. */
export interface Row {
  /** In pixels. */
  readonly width: number;
  /** Red, green, blue of each pixel, 0 to 255, not rounded yet. */
  readonly pixels: Float32Array;
  /** Scratch for shape outlines, all zero between uses. */
  readonly mask: Float32Array;
  /** The part of the mask in use: from `from`, up to but not including `to`. */
  readonly marked: { from: number; to: number };
}

/** Something painted over what is already in the row. Rows come from top to bottom, each once. */
export interface Layer {
  /** The rows it can touch: from `top`, up to but not including `bottom`. */
  readonly top: number;
  readonly bottom: number;
  paint(row: Row, y: number): void;
}

export function blankRow(width: number): Row {
  return {
    width,
    pixels: new Float32Array(width * 3),
    mask: new Float32Array(width + 4),
    marked: { from: 0, to: 0 },
  };
}

/** Paints row `y` of all layers, the first one lowest. */
export function paintLayers(layers: readonly Layer[], row: Row, y: number): void {
  for (const layer of layers) if (y >= layer.top && y < layer.bottom) layer.paint(row, y);
}
