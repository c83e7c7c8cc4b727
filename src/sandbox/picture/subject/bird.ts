import type { Layer } from "../canvas/layer.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import { lightSide, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { figure, type Part } from "./figure.ts";

const CREAM = hex("f6ead8");
const INK = hex("26202a");

const PARTS: readonly Part[] = [
  {
    tone: "bark",
    outline:
      "M-500 70 C -200 84 -60 92 -8 84 C 20 80 50 84 76 81 C 92 79 102 82 110 78 L 110 80 C 102 85 92 83 77 85.6 C 50 89 20 85 -8 91 C -60 100 -200 96 -500 88",
  },
  { tone: "bark", outline: "M84 81 C 92 76 97 70 99 62 L 101 63 C 99 72 95 78 88 83" },
  { tone: "leaf", outline: "M100 63 C 92 60 90 52 94 45 C 102 49 104 57 100 63" },
  { tone: "leaf", outline: "M96 73 C 100 66 107 65 112 68 C 109 75 102 77 96 73" },
  { tone: "leaf", outline: "M4 86 C 8 92 8 98 3 103 C -3 98 -2 91 4 86" },
  { tone: "leaf", outline: "M14 83 C 10 76 12 70 17 66 C 22 72 20 79 14 83" },
  { tone: "feather", outline: "M30 62 C 18 70 8 80 0 94 L 8 97 C 18 86 30 78 40 72" },
  { tone: "wing", outline: "M34 60 C 20 72 12 82 7 97 L 14 98 C 24 86 34 78 44 70" },
  {
    tone: "coat",
    outline:
      "M68 14 C 80 14 88 22 87 33 C 88 42 86 52 82 62 C 77 76 62 82 48 78 C 36 75 28 66 32 56 C 36 46 48 40 52 30 C 54 20 60 14 68 14",
  },
  {
    tone: "pale",
    outline: "M84 37 C 88 44 86 54 82 62 C 77 76 62 82 50 78.6 C 62 72 66 62 68 52 C 70 44 76 38 84 37",
  },
  {
    tone: "wing",
    outline: "M52 38 C 62 42 66 54 58 64 C 50 72 34 76 18 80 C 26 70 30 62 34 54 C 38 46 44 40 52 38",
  },
  { tone: "feather", outline: "M54 56 C 52 66 38 72 18 80 C 24 73 28 67 31 62 C 40 64 48 62 54 56" },
  { tone: "beak", outline: "M86 25 C 92 26 97 29 100 32 C 95 33 90 34 86.6 34" },
  {
    tone: "ink",
    outline: "M74.6 23 C 78 22 80.6 25 79.6 28.2 C 78 31 74 30.4 73.2 27.6 C 72.8 25.6 73.4 23.6 74.6 23",
  },
  { tone: "glint", outline: "M76.6 24.4 C 78 24.2 78.8 25.4 78.2 26.4 C 77.2 27 76 25.8 76.6 24.4" },
  { tone: "beak", outline: "M56 77 L 55 83 L 52 85 L 60 85 L 58 83 L 59 77" },
  { tone: "beak", outline: "M66 77 L 66 83 L 63 85 L 71 85 L 69 83 L 69 76" },
];

/** A plump songbird on a branch. */
export function bird(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("bird");
  const coat = stage.accent ?? draw.pick([hex("3f7fc0"), hex("c9483a"), hex("e0a02f"), hex("3f9a86")]);
  const tones = {
    coat,
    wing: brighter(coat, 0.66),
    feather: brighter(coat, 0.5),
    pale: mix(coat, CREAM, 0.78),
    beak: hex("e8a23a"),
    ink: INK,
    glint: hex("ffffff"),
    bark: hex("5f4636"),
    leaf: draw.pick(stage.land.foliage),
  };
  return figure(stage, { ...spot, reach: spot.reach * 1.15 }, PARTS, tones, {
    halfWidth: 60,
    facing: lightSide(stage),
  });
}
