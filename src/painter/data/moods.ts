import { hexes, type Rgb } from "../canvas/color.ts";

/** What grows and lies around, in plain daylight. */
export interface Land {
  readonly far: Rgb;
  readonly near: Rgb;
  readonly rock: Rgb;
  readonly water: Rgb;
  readonly foliage: readonly [Rgb, ...Rgb[]];
  readonly blossom: readonly [Rgb, ...Rgb[]];
  /** How much of the heights lies under snow, 0 to 1; at 1 the ground does as well. */
  readonly snow: number;
}

/** Far, near, rock, water; foliage; blossom; snow. */
function land(text: string): Land {
  const [ground = "", leaves = "", petals = "", snow] = text.split("|");
  const [far, near = far, rock = far, water = far] = hexes(ground);
  return { far, near, rock, water, foliage: hexes(leaves), blossom: hexes(petals), snow: Number(snow) };
}

export const LANDS = {
  summer: land("7fa3a0 3f6b3a 7a7468 2f6f8f|3f7a44 5a9150 2f6340|f2c230 e8505b f7f3e3 9a6bd0|.3"),
  spring: land("9cc0a8 6fa657 8d877c 4f93b0|8cc26a a9d17c 6fae62|f7a8c4 fbd3e0 fff2a8 b7a0ea|.4"),
  autumn: land("a98a76 8a5a2c 7d6a58 3f6478|d97a26 c4451f e6a92f a8351f|e8a13a c9472b f0d9a0 8f3a4e|.1"),
  winter: land("b4c6d8 e6eef4 8b95a0 5f86a3|5f7f86 7b979b 486a74|d8e6f2 f2c8d0 ffffff a9bfe0|1"),
};

export type LandName = keyof typeof LANDS;

/** A time of day and its weather: the sky, and the light it casts on everything below. */
export interface Light {
  /** Colours from the zenith down to the horizon. */
  readonly sky: readonly [Rgb, ...Rgb[]];
  /** The sun or moon. */
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
  const [orb, glow = orb, haze = orb, cloud = orb] = hexes(colors);
  const [red = 1, green = 1, blue = 1] = tint.split(" ").map(Number);
  const [altitude = 0, stars = 0, lamps = 0] = rest.split(" ").map(Number);
  return { sky: hexes(sky), orb, glow, haze, cloud, tint: [red, green, blue], altitude, stars, lamps };
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

/** The places that can be painted. */
export type SettingName = "sea" | "mountains" | "city" | "forest" | "meadow" | "shapes";
