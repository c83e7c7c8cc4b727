/**
 * The height at `x` of a line that rises from point to point, and goes on beyond the last as it came.
 * Given with `xs` and `ys` exchanged, where it has a height.
 *
 * @param xs Rising, two at least.
 * @param ys As many.
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
