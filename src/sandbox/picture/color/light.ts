import { hex, type Rgb } from "./rgb.ts";

/** A time of day and its weather: the sky, and the light it casts on everything below. */
export interface Light {
  /** From the zenith down to the horizon. */
  readonly sky: readonly [Rgb, ...Rgb[]];
  readonly orb: Rgb;
  readonly moon: boolean;
  /** Height of the sun or moon over the horizon, as a share of the sky. */
  readonly altitude: number;
  readonly glow: Rgb;
  /** What distance fades into. */
  readonly haze: Rgb;
  readonly cloud: Rgb;
  /** How much of each colour things under this sky give back. */
  readonly tint: Rgb;
  /** 0 by day to 1 in a clear night. */
  readonly stars: number;
  /** How strongly windows and lamps shine, 0 to 1. */
  readonly lamps: number;
}

const DUSK: Light = {
  sky: sky("1d2450 4b3a7c a94f86 ee7d63 ffc27d"),
  orb: hex("fff0c4"),
  moon: false,
  altitude: 0.13,
  glow: hex("ffab66"),
  haze: hex("d88a86"),
  cloud: hex("ff9d85"),
  tint: [0.58, 0.44, 0.56],
  stars: 0.35,
  lamps: 1,
};

const DAWN: Light = {
  sky: sky("5f86bd 97b0d6 dcbfd0 f9cdb9 fff0cd"),
  orb: hex("fffbe6"),
  moon: false,
  altitude: 0.2,
  glow: hex("ffd9a0"),
  haze: hex("e9cfc9"),
  cloud: hex("ffe3dc"),
  tint: [0.82, 0.74, 0.8],
  stars: 0,
  lamps: 0.5,
};

const DAY: Light = {
  sky: sky("2f79c4 5fa5de a4d3ef e2f1f3"),
  orb: hex("fffbe0"),
  moon: false,
  altitude: 0.72,
  glow: hex("fff6d2"),
  haze: hex("cfe3ec"),
  cloud: hex("ffffff"),
  tint: [1, 1, 1],
  stars: 0,
  lamps: 0,
};

const GOLDEN: Light = {
  sky: sky("5d86a3 a9b3a0 f0cc86 ffdc8f fff0bd"),
  orb: hex("fffbe2"),
  moon: false,
  altitude: 0.26,
  glow: hex("ffe08a"),
  haze: hex("eccb8d"),
  cloud: hex("fff0c8"),
  tint: [0.95, 0.8, 0.58],
  stars: 0,
  lamps: 0.5,
};

const NIGHT: Light = {
  sky: sky("050a20 0b1a40 17326a 34588f"),
  orb: hex("f7f3dc"),
  moon: true,
  altitude: 0.62,
  glow: hex("9db9e6"),
  haze: hex("2c4a7c"),
  cloud: hex("5f7fb4"),
  tint: [0.2, 0.27, 0.42],
  stars: 1,
  lamps: 1,
};

const STORM: Light = {
  sky: sky("1c232c 37434f 5f6d77 98a3a4 c3c5b8"),
  orb: hex("dfe2d8"),
  moon: false,
  altitude: 0.3,
  glow: hex("cfd3c6"),
  haze: hex("8e999c"),
  cloud: hex("39434c"),
  tint: [0.52, 0.57, 0.6],
  stars: 0,
  lamps: 1,
};

const NEON: Light = {
  sky: sky("0a0322 260a4e 6a1583 d9237f ff7a59"),
  orb: hex("ffd95e"),
  moon: false,
  altitude: 0.24,
  glow: hex("ff3d9a"),
  haze: hex("8a2391"),
  cloud: hex("c12a9a"),
  tint: [0.32, 0.17, 0.55],
  stars: 0.7,
  lamps: 1,
};

export const LIGHTS = {
  dusk: DUSK,
  dawn: DAWN,
  day: DAY,
  golden: GOLDEN,
  night: NIGHT,
  storm: STORM,
  neon: NEON,
};

export type LightName = keyof typeof LIGHTS;

function sky(stops: string): [Rgb, ...Rgb[]] {
  const [first, ...rest] = stops.split(" ").map(hex);
  return [first ?? [0, 0, 0], ...rest];
}
