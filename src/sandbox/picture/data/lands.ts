import { hexes, type Rgb } from "../canvas/rgb.ts";

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
  desert: land("d9a57c d08a4a b5764a 4f9aa0|7f8a4f 98985a 6a7a48|f2a23a e8604b f7e3c0 d04a80|0"),
  ocean: land("6f9db0 2f6b6f 6f7a80 1f7f9a|3f8a7f 56a38f 2f7068|f7e3b0 ff8f70 ffffff f2b84b|.1"),
};

export type LandName = keyof typeof LANDS;
