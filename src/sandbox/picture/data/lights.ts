import { hex, hexes, type Rgb } from "../canvas/rgb.ts";

/** A time of day and its weather: the sky, and the light it casts on everything below. */
export interface Light {
  /** From the zenith down to the horizon. */
  readonly sky: readonly [Rgb, ...Rgb[]];
  readonly orb: Rgb;
  readonly glow: Rgb;
  /** What distance fades into. */
  readonly haze: Rgb;
  readonly cloud: Rgb;
  /** How much of each colour things under this sky give back. */
  readonly tint: Rgb;
  /** Height of the sun or moon over the horizon, as a share of the sky. */
  readonly altitude: number;
  /** 0 by day to 1 in a clear night, when the moon shines in place of the sun. */
  readonly stars: number;
  /** How strongly windows and lamps shine, 0 to 1. */
  readonly lamps: number;
}

/** Sky; orb, glow, haze, cloud; tint; altitude, stars, lamps. */
function light(text: string): Light {
  const [sky = "", colors = "", tint = "", rest = ""] = text.split("|");
  const [orb = "", glow = "", haze = "", cloud = ""] = colors.split(" ");
  const [red = 1, green = 1, blue = 1] = tint.split(" ").map(Number);
  const [altitude = 0, stars = 0, lamps = 0] = rest.split(" ").map(Number);
  const air = { sky: hexes(sky), orb: hex(orb), glow: hex(glow), haze: hex(haze), cloud: hex(cloud) };
  return { ...air, tint: [red, green, blue], altitude, stars, lamps };
}

export const LIGHTS = {
  dusk: light("1d2450 4b3a7c a94f86 ee7d63 ffc27d|fff0c4 ffab66 d88a86 ff9d85|.58 .44 .56|.13 .35 1"),
  dawn: light("5f86bd 97b0d6 dcbfd0 f9cdb9 fff0cd|fffbe6 ffd9a0 e9cfc9 ffe3dc|.82 .74 .8|.2 0 .5"),
  day: light("2f79c4 5fa5de a4d3ef e2f1f3|fffbe0 fff6d2 cfe3ec ffffff|1 1 1|.72 0 0"),
  golden: light("5d86a3 a9b3a0 f0cc86 ffdc8f fff0bd|fffbe2 ffe08a eccb8d fff0c8|.95 .8 .58|.26 0 .5"),
  night: light("050a20 0b1a40 17326a 34588f|f7f3dc 9db9e6 2c4a7c 5f7fb4|.2 .27 .42|.62 1 1"),
  storm: light("1c232c 37434f 5f6d77 98a3a4 c3c5b8|dfe2d8 cfd3c6 8e999c 39434c|.52 .57 .6|.3 0 1"),
  neon: light("0a0322 260a4e 6a1583 d9237f ff7a59|ffd95e ff3d9a 8a2391 c12a9a|.32 .17 .55|.24 .7 1"),
};

export type LightName = keyof typeof LIGHTS;
