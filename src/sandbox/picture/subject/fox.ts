import type { Layer } from "../canvas/layer.ts";
import { brighter, hex } from "../color/rgb.ts";
import type { Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { figure, type Part } from "./figure.ts";
import { shadow } from "./shadow.ts";

const CREAM = hex("f6ead8");
const INK = hex("26202a");

const PARTS: readonly Part[] = [
  {
    tone: "back",
    outline: "M62 97 C 80 100 100 92 102 74 C 103 62 98 54 92 48 C 92 58 86 62 80 68 C 74 74 70 82 62 86",
  },
  {
    tone: "pale",
    outline: "M92 48 C 98 54 103 62 102 72 C 98 68 95 69 93 65 C 91 67 88 65 86 63 C 90 59 92 55 92 48",
  },
  {
    tone: "coat",
    outline:
      "M50 38 C 62 42 66 54 69 66 C 74 82 74 99 64 100 L 36 100 C 26 99 26 82 31 66 C 34 54 38 42 50 38",
  },
  {
    tone: "pale",
    outline:
      "M50 44 C 60 46 62 54 60 62 C 58 64 57 68 55 70 C 54 76 52 78 50 82 C 48 78 46 76 45 70 C 43 68 42 64 40 62 C 38 54 40 46 50 44",
  },
  {
    tone: "back",
    outline: "M27 86 C 27 78 32 74 36 78 C 39 84 39 94 38 100 L 35 100 C 28 99 27 94 27 86",
    twin: true,
  },
  { tone: "coat", outline: "M42 68 C 40 78 40 84 40.5 90 L 48.5 90 C 49 84 49 78 48.5 68", twin: true },
  {
    tone: "sock",
    outline: "M40.4 84 C 40 92 38 96 39 100 L 49 100 C 49.6 94 48.6 90 48.6 84 L 46 87 L 44.6 84 L 42.6 87",
    twin: true,
  },
  { tone: "coat", outline: "M30 26 C 28 16 27 8 29 1 C 36 5 43 11 47 18", twin: true },
  {
    tone: "sock",
    outline: "M29.6 10 C 28.4 6 28.4 3 29 1 C 32.4 3 35.6 5 38.4 8 C 35 8 31.6 8.6 29.6 10",
    twin: true,
  },
  { tone: "pale", outline: "M33 22 C 32 17 32 14 33 11 C 37 13 40 16 43 20", twin: true },
  {
    tone: "coat",
    outline:
      "M50 14 C 62 14 69 20 71 28 C 73 33 77 36 80 38 C 74 41 70 42 66 45 C 60 50 55 54 50 57 C 45 54 40 50 34 45 C 30 42 26 41 20 38 C 23 36 27 33 29 28 C 31 20 38 14 50 14",
  },
  {
    tone: "pale",
    outline: "M20 38 C 28 37 34 34 40 36 C 44 38 46 42 48 48 L 50 57 C 45 54 40 50 34 45 C 30 42 26 41 20 38",
    twin: true,
  },
  { tone: "pale", outline: "M47.4 47 L 52.6 47 L 52.6 56 L 47.4 56" },
  { tone: "glint", outline: "M35 31 C 38 27.4 43 28.6 44 33 C 41 35.4 37 34.6 35 31", twin: true },
  {
    tone: "pupil",
    outline:
      "M37.8 29.6 C 39.4 28.2 42.2 29 42.4 31.4 C 42.4 34 40 34.8 38.6 33.8 C 37.4 32.8 37 30.8 37.8 29.6",
    twin: true,
  },
  { tone: "ink", outline: "M46 51.4 C 48 50 52 50 54 51.4 C 54 54 52 57.4 50 57.6 C 48 57.4 46 54 46 51.4" },
];

/** A sitting fox, seen from the front, with its tail to one side. */
export function fox(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("fox");
  const coat = stage.accent ?? draw.pick([hex("e0752f"), hex("d8622a"), hex("c9702f")]);
  const tones = {
    coat,
    back: brighter(coat, 0.82),
    pale: CREAM,
    sock: hex("4a2c24"),
    ink: INK,
    glint: hex("ffe08a"),
    pupil: INK,
  };
  return [
    shadow(stage, spot, 40),
    ...figure(stage, spot, PARTS, tones, { halfWidth: 52, facing: draw.pick([1, -1]) }),
  ];
}
