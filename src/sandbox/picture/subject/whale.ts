import { fill } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { circle, curve, type Point, ribbon } from "../canvas/outline.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { figure, type Part, unitOf } from "./figure.ts";

const CREAM = hex("f6ead8");
const INK = hex("26202a");

const PARTS: readonly Part[] = [
  {
    tone: "coat",
    outline:
      "M104 101 C 106 66 86 48 60 51 C 42 53 34 68 24 70 C 16 71 13 62 15 52 C 17 46 20 42 25 40 C 18 36 10 38 7 44 C 4 38 -3 35 -9 38 C -6 43 -2 46 3 49 C 3 62 4 78 12 88 C 18 95 26 100 34 101",
  },
  { tone: "pale", outline: "M103.6 92 C 96 86 84 86 74 90 C 64 94 56 100 50 101 L 104 101" },
  { tone: "pleat", outline: "M102 94.6 C 92 90 80 92 66 99.6 C 80 93 92 92 102 95.8" },
  { tone: "pleat", outline: "M102 97.6 C 94 94.4 86 95.4 76 100 C 86 96.6 94 96 102 98.8" },
  { tone: "back", outline: "M74 88 C 70 94 64 98 56 99 C 58 92 64 87 74 88" },
  { tone: "ink", outline: "M88 77 C 90 76 92 78 91 80.4 C 89 82 86.6 80 88 77" },
  { tone: "glint", outline: "M89.2 77.6 C 90 77.4 90.6 78.2 90.2 79 C 89.4 79.2 88.8 78.4 89.2 77.6" },
];

/** A whale at the surface, flukes raised. */
export function whale(stage: Stage, spot: Spot): Layer[] {
  const coat = stage.accent ?? hex("3f6f9a");
  const tones = {
    coat,
    back: brighter(coat, 0.78),
    pale: mix(coat, CREAM, 0.75),
    pleat: mix(coat, CREAM, 0.4),
    ink: INK,
    glint: hex("ffffff"),
  };
  const facing = lightSide(stage);
  return [...spout(stage, spot, facing), ...figure(stage, spot, PARTS, tones, { halfWidth: 56, facing })];
}

function spout(stage: Stage, spot: Spot, facing: 1 | -1): Layer[] {
  const unit = unitOf(spot, 56);
  const [x, y]: Point = [spot.x + facing * 20 * unit, spot.y - 49 * unit];
  const jets = [-1, -0.45, 0.45, 1].map((side) =>
    ribbon(
      curve([x, y], [x + side * 3 * unit, y - 40 * unit], [x + side * 19 * unit, y - 18 * unit]),
      (t) => unit * (1.4 + 3 * t * (1 - t) + t),
    ),
  );
  const drops = [-20, -13, -6, 4, 12, 20].map((across, i) =>
    circle(x + across * unit, y - (26 - (i % 3) * 7) * unit, unit * (1 + (i % 2) * 0.5)),
  );
  return [fill([...jets, ...drops], mix(lit(stage, hex("e8f6fb")), [255, 255, 255], 0.35), 0.85)];
}
