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

/** From `a` (share 0) to `b` (share 1). */
export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

/** Each channel of `color` times that of `light`, where 1 leaves it as it is. */
export function under(color: Rgb, light: Rgb): Rgb {
  return [color[0] * light[0], color[1] * light[1], color[2] * light[2]];
}

export function brighter(color: Rgb, factor: number): Rgb {
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}

/** The colour at `share` (0 to 1) of the way through evenly spaced stops. */
export function gradient(stops: readonly [Rgb, ...Rgb[]], share: number): Rgb {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const index = Math.floor(place);
  const from = stops[index] ?? stops[0];
  return mix(from, stops[index + 1] ?? from, place - index);
}

/** How bright a colour looks, 0 to 255. */
export function luminance([red, green, blue]: Rgb): number {
  return 0.3 * red + 0.59 * green + 0.11 * blue;
}

/** The colour with its hue turned by `turn` radians and its colourfulness times `vivid`; as bright as before. */
export function tuned(color: Rgb, turn: number, vivid: number): Rgb {
  const [red, , blue] = color;
  const grey = luminance(color);
  const [u, v] = [(blue - grey) * 0.493, (red - grey) * 0.877];
  const [cos, sin] = [Math.cos(turn) * vivid, Math.sin(turn) * vivid];
  const blueness = (u * cos - v * sin) / 0.493;
  const redness = (u * sin + v * cos) / 0.877;
  return [grey + redness, grey - (0.3 * redness + 0.11 * blueness) / 0.59, grey + blueness];
}

/** How bright the pixel looks whose red value is at `at`. */
export function luminanceAt(pixels: Float32Array | Uint8ClampedArray, at: number): number {
  return 0.3 * (pixels[at] as number) + 0.59 * (pixels[at + 1] as number) + 0.11 * (pixels[at + 2] as number);
}
