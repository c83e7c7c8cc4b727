import { fillFading } from "../canvas/fill.ts";
import { brighter } from "../color/rgb.ts";
import { landUnder, ridgeAt } from "../scene/ridge.ts";
import { snowed } from "../scene/snow.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import { foothill, woods } from "../scene/woods.ts";
import { lake } from "./lake.ts";
import { range } from "./range.ts";
import type { Footing, Setting, Spot } from "./setting.ts";

/** A range of peaks behind wooded foothills. */
export function mountains(stage: Stage, footing: Footing): Setting {
  if (footing === "water") return lake(stage, footing);
  const { width, height, horizon, unit } = stage;
  const depth = height - horizon;
  const middle = foothill(stage, horizon + depth * 0.2, unit * 0.07, "middle");
  const near = foothill(stage, horizon + depth * 0.62, unit * 0.09, "near");
  const draw = stage.random("spot");
  const x = width * (lightSide(stage) > 0 ? draw.between(0.28, 0.38) : draw.between(0.62, 0.72));
  const y = ridgeAt(stage, near, x) + unit * 0.012;
  const reach = Math.min(unit * 0.3, width * 0.24);
  const hill: Spot = { x, y, height: Math.min(unit * 0.46, y - horizon * 0.3), reach };
  const clearing = footing === "ground" ? hill : undefined;
  const ground = lit(stage, snowed(stage, stage.land.near, 0.75), 0.05);
  return {
    back: [
      ...range(stage, horizon),
      ...woods(stage, { ridge: middle, distance: 0.32, tall: unit * 0.07 }),
      ...woods(stage, { ridge: near, distance: 0.06, tall: unit * 0.15, clearing }),
      fillFading([landUnder(stage, near, height)], ground, brighter(ground, 0.55)),
    ],
    front: [],
    spot: clearing ?? { ...hill, y: horizon * 0.55 },
  };
}
