/**
 * Slowly changing values along a row: computed at every few pixels, and in straight lines between them.
 * `into` holds one value for each pixel of the row.
 */
export function softly(into: Float32Array, step: number, valueAt: (x: number) => number): void {
  const width = into.length;
  let value = valueAt(0);
  for (let from = 0; from < width; from += step) {
    const next = valueAt(from + step);
    const slope = (next - value) / step;
    const to = Math.min(width, from + step);
    for (let x = from; x < to; x++) into[x] = value + slope * (x - from);
    value = next;
  }
}

/** How many pixels apart values may be computed before the eye can tell. */
export function softStep(width: number): number {
  return Math.max(1, Math.round(width / 320));
}
