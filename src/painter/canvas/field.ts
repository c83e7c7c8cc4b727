/** Writes the values at a place into `into` from index `at` on. */
export type Sampler = (x: number, y: number, into: Float32Array, at: number) => void;

/** Slowly changing values: `channels` numbers for each pixel of row `y`, one pixel after the other. */
export type Field = (y: number, into: Float32Array) => void;

/** How many pixels apart skies and mists may be computed before the eye can tell. */
export function softStep(width: number): number {
  return Math.max(1, Math.round(width / 256));
}

/** A field that is computed every `step` pixels in both directions, and runs in straight lines between them. */
export function softField(width: number, step: number, channels: number, sample: Sampler): Field {
  const size = (Math.ceil(width / step) + 1) * channels;
  let [upper, lower] = [new Float32Array(size), new Float32Array(size)];
  let known = Number.NaN;
  const compute = (line: Float32Array, y: number) => {
    for (let i = 0, x = 0; i < size; i += channels, x += step) sample(x, y, line, i);
  };
  return (y, into) => {
    const band = Math.floor(y / step);
    if (band === known + 1) {
      [upper, lower] = [lower, upper];
      compute(lower, (band + 1) * step);
    } else if (band !== known) {
      compute(upper, band * step);
      compute(lower, (band + 1) * step);
    }
    known = band;
    spread(upper, lower, y / step - band, step, channels, into);
  };
}

function spread(
  upper: Float32Array,
  lower: Float32Array,
  down: number,
  step: number,
  channels: number,
  into: Float32Array,
): void {
  const stride = step * channels;
  for (let c = 0; c < channels; c++) {
    let left = (upper[c] as number) + ((lower[c] as number) - (upper[c] as number)) * down;
    for (let cell = channels + c, from = c; from < into.length; cell += channels, from += stride) {
      const right = (upper[cell] as number) + ((lower[cell] as number) - (upper[cell] as number)) * down;
      const slope = (right - left) / step;
      const end = Math.min(into.length, from + stride);
      for (let i = from; i < end; i += channels) {
        into[i] = left;
        left += slope;
      }
      left = right;
    }
  }
}
