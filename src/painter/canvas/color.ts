/** Red, green and blue, each from 0 to 255; not rounded until a pixel is written. */
export type Rgb = readonly [red: number, green: number, blue: number];

/** A colour written as six hexadecimal digits, such as `ff8a5c`. */
export function hex(digits: string): Rgb {
  const value = Number.parseInt(digits, 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Colours separated by spaces. */
export function hexes(list: string): [Rgb, ...Rgb[]] {
  const [first, ...rest] = list.split(" ").map(hex);
  return [first ?? [0, 0, 0], ...rest];
}

/** Mixes `a` (share 0) and `b` (share 1). */
export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

export function brighter(color: Rgb, factor: number): Rgb {
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}

/** How bright the pixel looks whose red value is at `at`, 0 to 255. */
export function luminance(pixels: ArrayLike<number>, at = 0): number {
  return 0.3 * (pixels[at] as number) + 0.59 * (pixels[at + 1] as number) + 0.11 * (pixels[at + 2] as number);
}
