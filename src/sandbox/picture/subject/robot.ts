import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import type { Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { figure, type Part, unitOf } from "./figure.ts";

const ROBOT: readonly Part[] = [
  { tone: "dark", outline: "M49.2 0 L 50.8 0 L 50.8 12 L 49.2 12" },
  { tone: "dark", outline: "M36 80 L 44 80 L 44 96 L 36 96", twin: true },
  { tone: "shell", outline: "M32 100 C 32 94 36 92 40 92 C 45 92 48 95 48 100", twin: true },
  { tone: "dark", outline: "M22 54 C 14 58 12 66 14 74 L 18.4 73.4 C 17 67 18.6 62 24 59", twin: true },
  {
    tone: "shell",
    outline:
      "M11 74 C 11 70 21 70 21 74 C 22 80 20 82 18.6 82 L 18 77 L 14 77 L 13.4 82 C 11 81 10.4 78 11 74",
    twin: true,
  },
  { tone: "dark", outline: "M44 44 L 56 44 L 56 52 L 44 52" },
  {
    tone: "shell",
    outline:
      "M30 50 L 70 50 C 76 50 78 54 77 60 L 74 78 C 73 83 70 84 66 84 L 34 84 C 30 84 27 83 26 78 L 23 60 C 22 54 24 50 30 50",
  },
  {
    tone: "panel",
    outline:
      "M37 58 L 63 58 C 65 58 66 59 66 61 L 65 74 C 65 76 64 77 62 77 L 38 77 C 36 77 35 76 35 74 L 34 61 C 34 59 35 58 37 58",
  },
  {
    tone: "glint",
    outline: "M50 72 C 44 68 41 66 42 63 C 43.4 60 48 60.4 50 64 C 52 60.4 56.6 60 58 63 C 59 66 56 68 50 72",
  },
  { tone: "dark", outline: "M22 24 L 27 24 L 27 36 L 22 36 C 20 35 20 25 22 24", twin: true },
  {
    tone: "shell",
    outline:
      "M34 11 L 66 11 C 73 11 76 15 76 21 L 76 37 C 76 43 73 46 66 46 L 34 46 C 27 46 24 43 24 37 L 24 21 C 24 15 27 11 34 11",
  },
  {
    tone: "panel",
    outline:
      "M36 17 L 64 17 C 69 17 71 19 71 24 L 71 34 C 71 39 69 41 64 41 L 36 41 C 31 41 29 39 29 34 L 29 24 C 29 19 31 17 36 17",
  },
  {
    tone: "glint",
    outline:
      "M40 22 C 44 22 45.4 25 45.4 28 C 45.4 31 44 34 40 34 C 36 34 34.6 31 34.6 28 C 34.6 25 36 22 40 22",
    twin: true,
  },
  {
    tone: "panel",
    outline: "M41 25 C 43 25 43.4 27 43 28.6 C 42 30 39.6 29.4 39.6 27.4 C 39.6 26 40 25 41 25",
    twin: true,
  },
  { tone: "glint", outline: "M44 35.6 C 47 38.4 53 38.4 56 35.6 L 56.6 36.4 C 53 40 47 40 43.4 36.4" },
];

/** A friendly robot with glowing eyes. */
export function robot(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("robot");
  const shell = stage.accent ?? draw.pick([hex("c9d3dc"), hex("e8b84a"), hex("6fb0a8"), hex("e07a5a")]);
  const lamp = draw.pick([hex("6fe8ff"), hex("ffe27a"), hex("8fffb0")]);
  const tones = {
    shell: mix(shell, hex("ffffff"), 0.1),
    dark: brighter(shell, 0.5),
    panel: hex("232a38"),
    glint: lamp,
  };
  const u = unitOf(spot, 42);
  return [
    ...figure(stage, spot, ROBOT, tones, { halfWidth: 42, facing: 1 }),
    glow(spot.x, spot.y - 100 * u, 7 * u, lamp, 1),
    ...[-10, 10].map((side) => glow(spot.x + side * u, spot.y - 72 * u, 12 * u, lamp, 0.35)),
  ];
}
