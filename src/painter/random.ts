/** A stream of numbers that is the same for the same seed, on every machine. */
export interface Random {
  /** The next number, at least 0 and below 1. */
  next(): number;
  between(low: number, high: number): number;
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
}

export function seededRandom(seed: string): Random {
  const next = generator(hash(seed, 0x811c9dc5), hash(seed, 0x9e3779b9));
  const between = (low: number, high: number) => low + (high - low) * next();
  return {
    next,
    between,
    integer: (low, high) => Math.floor(between(low, high + 1)),
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

function generator(first: number, second: number): () => number {
  let state = first;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    return mixed(state ^ second) / 0x1_0000_0000;
  };
}

/** Smooth noise over the plane, from -1 to 1, with features about one unit wide. */
export type Noise = (x: number, y: number) => number;

const SIZE = 256;

/** Value noise: random heights on a lattice, eased in between. Repeats after 256 units. */
export function valueNoise(random: Random): Noise {
  const heights = new Float32Array(SIZE).map(() => random.between(-1, 1));
  const offsets = new Uint8Array(SIZE).map(() => random.integer(0, SIZE - 1));
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
  let scale = 1;
  for (let octave = 0; octave < octaves; octave++) {
    sum += weight * noise(x * scale + octave * 17.3, y * scale + octave * 9.1);
    weight /= 2;
    scale *= 2;
  }
  return sum / (1 - weight * 2);
}

function ease(t: number): number {
  return t * t * (3 - 2 * t);
}
