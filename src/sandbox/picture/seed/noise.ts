import type { Random } from "./random.ts";

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
