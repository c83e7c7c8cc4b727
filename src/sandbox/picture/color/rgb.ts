/** Red, green and blue, each from 0 to 255; not rounded until a pixel is written. */
export type Rgb = readonly [red: number, green: number, blue: number];

/** A colour written as six hexadecimal digits, such as `ff8a5c`. */
export function hex(digits: string): Rgb {
  const value = Number.parseInt(digits, 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** From `a` (share 0) to `b` (share 1). */
export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

/** `color` as it looks under light of the given tint, where 1 is full white light. */
export function under(color: Rgb, tint: Rgb): Rgb {
  return [color[0] * tint[0], color[1] * tint[1], color[2] * tint[2]];
}

export function brighter(color: Rgb, factor: number): Rgb {
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}

/** The colour at `share` (0 to 1) of the way through evenly spaced stops. */
export function gradient(stops: readonly [Rgb, ...Rgb[]], share: number): Rgb {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const index = Math.min(Math.floor(place), stops.length - 1);
  const from = stops[index] ?? stops[0];
  return mix(from, stops[index + 1] ?? from, place - index);
}
