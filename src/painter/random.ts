/** A stream of numbers that is the same for the same seed, on every machine. */
export interface Random {
  /** The next number, at least 0 and below 1. */
  next(): number;
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
}

export function seededRandom(seed: string): Random {
  let state = hash(seed, 0x811c9dc5);
  const second = hash(seed, 0x9e3779b9);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    return mixed(state ^ second) / 0x1_0000_0000;
  };
  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
  };
}

/** FNV-1a over UTF-16 units, so that lone surrogates count as well. */
function hash(text: string, basis: number): number {
  let state = basis;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  return mixed(state);
}

function mixed(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}

/** Smooth noise over the plane, from -1 to 1, with features about one unit wide. */
export type Noise = (x: number, y: number) => number;

const SIZE = 256;

/** Value noise: random heights on a lattice, eased in between. Repeats after 256 units. */
export function valueNoise(random: Random): Noise {
  const heights = new Float32Array(SIZE).map(() => random.between(-1, 1));
  const offsets = new Uint8Array(SIZE).map(() => random.between(0, SIZE));
  const height = (column: number, row: number) =>
    heights[(column + (offsets[row & (SIZE - 1)] as number)) & (SIZE - 1)] as number;
  return (x, y) => {
    const column = Math.floor(x);
    const row = Math.floor(y);
    const right = ease(x - column);
    const upper = height(column, row) * (1 - right) + height(column + 1, row) * right;
    const lower = height(column, row + 1) * (1 - right) + height(column + 1, row + 1) * right;
    return upper + (lower - upper) * ease(y - row);
  };
}

/** Several octaves of `noise` on top of each other: clouds, ridges, pigment. From -1 to 1. */
export function fractal(noise: Noise, x: number, y: number, octaves: number): number {
  let sum = 0;
  let weight = 0.5;
  for (let octave = 0, scale = 1; octave < octaves; octave++, scale *= 2, weight /= 2)
    sum += weight * noise(x * scale + octave * 17.3, y * scale + octave * 9.1);
  return sum / (1 - weight * 2);
}

function ease(t: number): number {
  return t * t * (3 - 2 * t);
}

/** Writes the values at a place into `into` from index `at` on. */
export type Sampler = (x: number, y: number, into: Float32Array, at: number) => void;

/**
 * Slowly changing values, `channels` of them for each pixel of a row, one pixel after the other. They are computed every
 * `step` pixels in both directions, and run in straight lines between them.
 */
export function softField(
  width: number,
  channels: number,
  sample: Sampler,
  // Of skies and waves the eye can tell no finer ones.
  step = Math.max(1, Math.round(width / 256)),
) {
  const size = (Math.ceil(width / step) + 1) * channels;
  let [upper, lower] = [new Float32Array(size), new Float32Array(size)];
  let lastBand = Number.NaN;
  const compute = (line: Float32Array, band: number) => {
    for (let i = 0, x = 0; i < size; i += channels, x += step) sample(x, band * step, line, i);
  };
  return (y: number, into: Float32Array): void => {
    const band = Math.floor(y / step);
    if (band !== lastBand) {
      [upper, lower] = [lower, upper];
      if (band !== lastBand + 1) compute(upper, band);
      compute(lower, band + 1);
      lastBand = band;
    }
    for (let c = 0; c < channels; c++) spread(upper, lower, y / step - band, c, channels, step, into);
  };
}

function spread(
  upper: Float32Array,
  lower: Float32Array,
  down: number,
  channel: number,
  channels: number,
  step: number,
  into: Float32Array,
): void {
  let left = (upper[channel] as number) * (1 - down) + (lower[channel] as number) * down;
  for (let cell = channel + channels, at = channel; at < into.length; cell += channels) {
    const right = (upper[cell] as number) * (1 - down) + (lower[cell] as number) * down;
    const slope = (right - left) / step;
    for (let end = Math.min(into.length, at + step * channels); at < end; at += channels) {
      into[at] = left;
      left += slope;
    }
    left = right;
  }
}
