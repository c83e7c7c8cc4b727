const SUB = 1;
const UP = 2;
const PIXEL = 3;
const SAMPLE_STEP = 7;

/**
 * Turns rows of pixels into what PNG compresses: each row as its difference to the pixel on the left or
 * to the row above, whichever looks smaller. `previous` holds the row above, and is left holding the last.
 */
export function filterRows(pixels: Uint8Array, previous: Uint8Array): Buffer {
  const stride = previous.length;
  const rows = pixels.length / stride;
  const filtered = Buffer.allocUnsafe(rows * (stride + 1));
  for (let row = 0; row < rows; row++) {
    const current = pixels.subarray(row * stride, (row + 1) * stride);
    const above = row === 0 ? previous : pixels.subarray((row - 1) * stride, row * stride);
    filterRow(current, above, filtered.subarray(row * (stride + 1), (row + 1) * (stride + 1)));
  }
  previous.set(pixels.subarray((rows - 1) * stride));
  return filtered;
}

function filterRow(current: Uint8Array, above: Uint8Array, into: Uint8Array): void {
  const type = cheaperFilter(current, above);
  into[0] = type;
  if (type === UP) {
    for (let i = 0; i < current.length; i++) into[i + 1] = (current[i] as number) - (above[i] as number);
    return;
  }
  for (let i = 0; i < PIXEL && i < current.length; i++) into[i + 1] = current[i] as number;
  for (let i = PIXEL; i < current.length; i++) {
    into[i + 1] = (current[i] as number) - (current[i - PIXEL] as number);
  }
}

function cheaperFilter(current: Uint8Array, above: Uint8Array): number {
  let left = 0;
  let up = 0;
  for (let i = PIXEL; i < current.length; i += SAMPLE_STEP) {
    const value = current[i] as number;
    left += Math.abs(value - (current[i - PIXEL] as number));
    up += Math.abs(value - (above[i] as number));
  }
  return up <= left ? UP : SUB;
}
