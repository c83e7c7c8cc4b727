import type { Layer } from "../canvas/layer.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import type { Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { figure, type Part } from "./figure.ts";
import { shadow } from "./shadow.ts";

const CREAM = hex("f6ead8");
const INK = hex("26202a");

const PARTS: readonly Part[] = [
  {
    tone: "back",
    outline: "M66 97 C 84 102 97 88 92 70 C 90 60 80 57 79 64 C 78 69 84 71 83 80 C 81 90 72 90 62 86",
  },
  { tone: "stripe", outline: "M92 70 C 90 60 80 57 79 64 C 79 67 80 68 82 70 C 84 68 88 68 92 70" },
  {
    tone: "coat",
    outline:
      "M50 36 C 62 38 67 52 71 66 C 78 84 77 99 66 100 L 34 100 C 23 99 22 84 29 66 C 33 52 38 38 50 36",
  },
  {
    tone: "pale",
    outline: "M50 42 C 58 44 60 56 58 68 C 56 78 54 82 50 84 C 46 82 44 78 42 68 C 40 56 42 44 50 42",
  },
  {
    tone: "back",
    outline: "M24 86 C 24 78 30 74 34 78 C 38 84 38 94 36 100 L 33 100 C 26 99 24 94 24 86",
    twin: true,
  },
  { tone: "pale", outline: "M39 100 C 37 96 40 92 44 93 C 48 93 50 97 49 100", twin: true },
  { tone: "coat", outline: "M42 66 C 40 78 40 88 41 96 L 48 96 C 49 88 49 78 48 66", twin: true },
  { tone: "coat", outline: "M31 28 C 29 20 29 10 31 3 C 38 6 44 11 48 17", twin: true },
  { tone: "pink", outline: "M34 21 C 33 16 33 12 34 8 C 38 10 41 13 44 17", twin: true },
  {
    tone: "coat",
    outline: "M50 13 C 66 13 73 24 71 34 C 69 46 59 50 50 50 C 41 50 31 46 29 34 C 27 24 34 13 50 13",
  },
  { tone: "stripe", outline: "M48.6 13 L 51.4 13 L 50 24", twin: false },
  { tone: "stripe", outline: "M43 14 L 46 13.4 L 46.4 22", twin: true },
  { tone: "stripe", outline: "M29.4 33 L 37 35 L 29.8 36.5", twin: true },
  {
    tone: "pale",
    outline: "M50 37 C 57 36 60 41 58 45 C 56 49 52 49.5 50 47 C 48 49.5 44 49 42 45 C 40 41 43 36 50 37",
  },
  { tone: "glint", outline: "M36 31 C 38 26 44 27 45.5 33 C 43 37 38 36 36 31", twin: true },
  { tone: "pupil", outline: "M41 27.6 C 42.6 30 42.6 33 41 35.6 C 39.4 33 39.4 30 41 27.6", twin: true },
  { tone: "pink", outline: "M47.5 38.6 L 52.5 38.6 L 50 41.6" },
  {
    tone: "ink",
    outline:
      "M50 41 L 50.5 43.4 C 52 45.4 54 45 55 44 C 54 46.4 51.4 46.6 50 44.6 C 48.6 46.6 46 46.4 45 44 C 46 45 48 45.4 49.5 43.4",
  },
  { tone: "glint", outline: "M42 42 L 24 39 L 42 42.5", twin: true },
  { tone: "glint", outline: "M42 44 L 25 46 L 42 44.5", twin: true },
];

/** A sitting cat, seen from the front. */
export function cat(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("cat");
  const coat = stage.accent ?? draw.pick([hex("d98a45"), hex("7d7883"), hex("3a3540"), hex("c9a27c")]);
  const tones = {
    coat,
    back: brighter(coat, 0.8),
    stripe: brighter(coat, 0.66),
    pale: mix(coat, CREAM, 0.72),
    pink: hex("e39a94"),
    ink: INK,
    glint: draw.pick([hex("ffd75e"), hex("b6e36a"), hex("8fe0e8")]),
    pupil: INK,
  };
  return [
    shadow(stage, spot, 34),
    ...figure(stage, spot, PARTS, tones, { halfWidth: 46, facing: draw.pick([1, -1]) }),
  ];
}
