import type { Layer } from "../canvas/layer.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import { lightSide, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { figure, type Part } from "./figure.ts";
import { shadow } from "./shadow.ts";

const CREAM = hex("f6ead8");
const INK = hex("26202a");

const PARTS: readonly Part[] = [
  {
    tone: "horn",
    outline:
      "M71 21 C 67 15 66 9 68 1 L 69.4 1.4 C 68.6 6 69 9 70 11 C 72.4 9 73.4 6 73 2 L 74.4 2 C 75 7 73.6 11 71 13.4 L 72.4 17 C 76 15 78 12 78.4 8 L 79.8 8.4 C 79.6 14 77 17.6 73.6 20",
  },
  {
    tone: "horn",
    outline:
      "M69.6 21 C 63 18 59 13 57 5 L 58.4 4.6 C 59.4 8 60.6 10.4 62 12 C 62.8 9.4 62.6 7 61.6 3.4 L 63 3 C 64.4 7 64.4 10.6 63.4 13.6 C 65 15.4 67 17 68.6 17.8 L 71 20",
  },
  { tone: "back", outline: "M28 62 C 29 72 26 80 27.4 98 L 26 100 L 31 100 C 31.4 86 33 78 36 70 L 38 60" },
  { tone: "back", outline: "M59 62 C 60 74 58.4 84 59 98 L 57.6 100 L 62.4 100 C 63 86 64 76 65 64" },
  {
    tone: "coat",
    outline:
      "M70 20 C 73 20 75 21.4 77 24 C 80 26 83.4 27.6 84.4 29.4 C 84.6 31.4 82 32.4 79 32.4 C 76 32.8 74.4 33 73.4 35 C 72.6 42 72 50 69 57 C 67.6 60.6 67.6 64 67.2 68 C 66.6 78 66.4 88 66.4 98 L 65 100 L 70 100 L 69.4 97 C 70 88 70.4 76 70.6 66 L 70 52 L 62 64 C 54 68 44 68 37 66 C 35 71 31.6 76 31.4 80 C 31 87 30 92 29.6 98 L 24 100 L 23.6 98 C 25 92 25.6 86 25.4 79 C 24 71 20.6 64 21 55 C 21.6 47 27 44 34 44 C 44 46 52 45 58 41 C 63 37 64.6 32 66.2 27 C 66.6 23 67.6 20.6 70 20",
  },
  {
    tone: "coat",
    outline: "M67.6 54 C 68.4 72 67 86 66.4 98 L 65 100 L 70 100 L 69.4 97 C 70.4 86 71 70 70.6 52",
  },
  { tone: "pale", outline: "M21 55 C 19 52 19 47 22.4 45.4 C 25 45.6 25.6 50 24.6 56 C 24 58 22 58 21 55" },
  { tone: "pale", outline: "M73.4 35 C 72.8 42 71.6 49 69.4 55 C 66.8 51 67.4 40 70 34" },
  { tone: "coat", outline: "M68 22.4 C 65 20.6 61.6 20.6 59.4 22.6 C 62 25 65.6 25.6 68.4 25" },
  { tone: "ink", outline: "M83 28.4 C 84.4 28.2 85 29 84.6 30.2 C 83.8 30.6 82.8 29.6 83 28.4" },
  { tone: "ink", outline: "M74.4 24.6 C 75.2 24 76.2 24.6 76 25.6 C 75.4 26.4 74.4 25.8 74.4 24.6" },
];

/** A stag from the side, looking towards the light. */
export function deer(stage: Stage, spot: Spot): Layer[] {
  const coat = stage.accent ?? hex("a8703f");
  const tones = {
    coat,
    back: brighter(coat, 0.72),
    pale: mix(coat, CREAM, 0.7),
    horn: hex("d9c3a0"),
    ink: INK,
  };
  return [
    shadow(stage, spot, 36),
    ...figure(stage, spot, PARTS, tones, { halfWidth: 46, facing: lightSide(stage) }),
  ];
}
