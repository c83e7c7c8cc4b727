import { fill } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { ellipse } from "../canvas/outline.ts";
import { brighter, type Rgb } from "../color/rgb.ts";
import { lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { unitOf } from "./figure.ts";

/** The shade under a figure of this width, in units of its drawing. */
export function shadow(stage: Stage, spot: Spot, halfWidth: number): Layer {
  const unit = unitOf(spot, halfWidth);
  const color: Rgb = lit(stage, brighter(stage.land.near, 0.3));
  return fill([ellipse(spot.x, spot.y, unit * halfWidth * 0.8, unit * 3.5)], color, 0.5);
}
