/**
 * The value at `x` of a piecewise linear function through the points (xs, ys). Beyond the last point its last slope
 * continues. Exchange `xs` and `ys` for the inverse of a rising function.
 *
 * @param xs rising; at least two
 * @param ys as many as xs
 */
export function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) <= x) low = middle;
    else high = middle;
  }
  const at = (values: readonly number[], index: number) => values[index] ?? 0;
  const slope = (at(ys, high) - at(ys, low)) / (at(xs, high) - at(xs, low));
  return at(ys, low) + (x - at(xs, low)) * slope;
}
