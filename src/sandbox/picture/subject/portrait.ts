import type { Layer } from "../canvas/layer.ts";
import { brighter, hex, mix, type Rgb } from "../color/rgb.ts";
import { lightSide, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { figure, type Part } from "./figure.ts";

const SKINS: readonly [Rgb, ...Rgb[]] = [
  hex("f2cdb0"),
  hex("e0a87e"),
  hex("b97a50"),
  hex("8a5638"),
  hex("6a4230"),
];
const HAIRS: readonly [Rgb, ...Rgb[]] = [
  hex("2f2326"),
  hex("5a3426"),
  hex("a8622f"),
  hex("d9a85a"),
  hex("7a2f2f"),
  hex("c9c4c0"),
];
const CLOTHES: readonly [Rgb, ...Rgb[]] = [
  hex("2f6f8f"),
  hex("c9483a"),
  hex("3f7a5a"),
  hex("e0a83a"),
  hex("6a4a8f"),
];

const LONG: readonly Part[] = [
  {
    tone: "hairDark",
    outline:
      "M50 8 C 76 6 82 28 79 46 C 78 60 86 74 80 88 C 66 92 34 92 20 88 C 14 74 22 60 21 46 C 18 28 24 6 50 8",
  },
];
const BUN: readonly Part[] = [
  { tone: "hair", outline: "M50 -6 C 60 -6 64 2 61 9 C 58 15 42 15 39 9 C 36 2 40 -6 50 -6" },
  { tone: "hairDark", outline: "M50 7 C 70 6 76 24 73 42 C 70 54 30 54 27 42 C 24 24 30 6 50 7" },
];
const SHORT: readonly Part[] = [
  { tone: "hairDark", outline: "M50 6 C 70 5 76 22 72 40 C 70 46 30 46 28 40 C 24 22 30 5 50 6" },
];

const BODY: readonly Part[] = [
  {
    tone: "cloth",
    outline: "M50 72 C 66 76 84 78 90 88 C 93 93 94 96 94 100 L 6 100 C 6 96 7 93 10 88 C 16 78 34 76 50 72",
  },
  { tone: "skinDark", outline: "M41 56 L 59 56 L 60 72 C 62 76 56 82 50 84 C 44 82 38 76 40 72" },
  {
    tone: "collar",
    outline: "M38 74 C 42 82 46 86 50 88 C 54 86 58 82 62 74 L 66 76 C 62 86 56 92 50 94 C 44 92 38 86 34 76",
  },
  { tone: "skinDark", outline: "M28.6 38 C 25 36 24 42 26 46 C 27 49 29 50 30.6 49", twin: true },
  {
    tone: "skin",
    outline: "M50 12 C 66 12 72 24 71 38 C 70 52 60 64 50 65 C 40 64 30 52 29 38 C 28 24 34 12 50 12",
  },
  { tone: "blush", outline: "M33 47 C 34 44 40 44 41 47 C 40 50.4 34 50.4 33 47", twin: true },
  { tone: "white", outline: "M34 39 C 37 35.6 42 35.6 45 39.4 C 42 42 37 42 34 39", twin: true },
  {
    tone: "iris",
    outline:
      "M39.6 36.4 C 42 36.6 43 38.6 42.4 40.4 C 41 42 38.4 41.8 37.2 40.4 C 36.6 38.4 37.6 36.6 39.6 36.4",
    twin: true,
  },
  {
    tone: "glint",
    outline: "M40.4 37.2 C 41.2 37.2 41.6 38 41 38.6 C 40.2 38.8 39.6 37.8 40.4 37.2",
    twin: true,
  },
  {
    tone: "hairDark",
    outline: "M33.4 38.8 C 37 34.2 42 34.2 45.4 39.2 C 42 36.6 37 36.4 33.4 38.8",
    twin: true,
  },
  { tone: "hairDark", outline: "M33 33 C 36.6 29.8 41 29.8 45 32 C 41 31.4 37 31.6 33 34", twin: true },
  {
    tone: "skinDark",
    outline: "M50.6 38 C 51.6 43 54 46.6 53.4 48.6 C 52.4 50 49.6 50 47.6 49.2 C 50 49 51.6 48.6 51.4 47.6",
  },
  {
    tone: "lip",
    outline: "M43 54.6 C 46 53.2 48.4 53 50 53.8 C 51.6 53 54 53.2 57 54.6 C 54 58.6 46 58.6 43 54.6",
  },
];
const FRINGES: readonly [string, ...string[]] = [
  "M27.6 40 C 22 18 34 4 52 5 C 70 5 78 20 72.4 40 C 72 32 68 26 62 20 C 52 28 38 26 32 28 C 29 31 28 35 27.6 40",
  "M27.6 42 C 22 16 36 4 50 5 C 66 4 78 18 72.4 42 C 71 34 68.6 29 67 26 C 56 29 44 29 33 26 C 31 30 28.6 35 27.6 42",
  "M28 40 C 24 18 32 6 46 5 C 64 2 78 16 72 40 C 71 30 66 24 56 18 C 48 18 36 22 28 40",
];

/** Head and shoulders of somebody who does not exist. */
export function portrait(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("portrait");
  const skin = draw.pick(SKINS);
  const hair = draw.pick(HAIRS);
  const cloth = stage.accent ?? draw.pick(CLOTHES);
  const tones = {
    skin,
    skinDark: brighter(skin, 0.8),
    blush: mix(skin, hex("e0705f"), 0.35),
    lip: mix(skin, hex("b0342f"), 0.55),
    hair,
    hairDark: brighter(hair, 0.75),
    cloth,
    collar: mix(cloth, hex("fff4e0"), 0.6),
    white: hex("fdfaf4"),
    iris: draw.pick([hex("3a2a22"), hex("2f5f7a"), hex("3f6a3f")]),
    glint: hex("ffffff"),
  };
  const parts = [
    ...draw.pick([LONG, BUN, SHORT, LONG]),
    ...BODY,
    { tone: "hair", outline: draw.pick(FRINGES) },
  ];
  return figure(stage, spot, parts, tones, { halfWidth: 46, facing: lightSide(stage) });
}
