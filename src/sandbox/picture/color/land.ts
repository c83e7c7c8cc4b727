import { hex, type Rgb } from "./rgb.ts";

/** What grows and lies around, in plain daylight. */
export interface Land {
  readonly far: Rgb;
  readonly near: Rgb;
  readonly foliage: readonly [Rgb, ...Rgb[]];
  readonly blossom: readonly [Rgb, ...Rgb[]];
  readonly rock: Rgb;
  readonly water: Rgb;
  /** How much of the heights and the ground lies under snow, 0 to 1. */
  readonly snow: number;
}

export const LANDS = {
  summer: land(
    "7fa3a0 3f6b3a",
    "3f7a44 5a9150 2f6340",
    "f2c230 e8505b f7f3e3 9a6bd0",
    "7a7468",
    "2f6f8f",
    0.3,
  ),
  spring: land(
    "9cc0a8 6fa657",
    "8cc26a a9d17c 6fae62",
    "f7a8c4 fbd3e0 fff2a8 b7a0ea",
    "8d877c",
    "4f93b0",
    0.4,
  ),
  autumn: land(
    "a98a76 8a5a2c",
    "d97a26 c4451f e6a92f a8351f",
    "e8a13a c9472b f0d9a0 8f3a4e",
    "7d6a58",
    "3f6478",
    0.1,
  ),
  winter: land("b4c6d8 e6eef4", "5f7f86 7b979b 486a74", "d8e6f2 f2c8d0 ffffff a9bfe0", "8b95a0", "5f86a3", 1),
  desert: land("d9a57c d08a4a", "7f8a4f 98985a 6a7a48", "f2a23a e8604b f7e3c0 d04a80", "b5764a", "4f9aa0", 0),
  ocean: land(
    "6f9db0 2f6b6f",
    "3f8a7f 56a38f 2f7068",
    "f7e3b0 ff8f70 ffffff f2b84b",
    "6f7a80",
    "1f7f9a",
    0.1,
  ),
};

export type LandName = keyof typeof LANDS;

function land(ground: string, leaves: string, petals: string, rock: string, sea: string, snow: number): Land {
  const [far, near] = colors(ground);
  return {
    far,
    near: near ?? far,
    foliage: colors(leaves),
    blossom: colors(petals),
    rock: hex(rock),
    water: hex(sea),
    snow,
  };
}

function colors(list: string): [Rgb, ...Rgb[]] {
  const [first, ...rest] = list.split(" ").map(hex);
  return [first ?? [0, 0, 0], ...rest];
}
