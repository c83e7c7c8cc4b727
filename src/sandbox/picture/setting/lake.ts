import { fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { brighter } from "../color/rgb.ts";
import { landUnder } from "../scene/ridge.ts";
import { snowed } from "../scene/snow.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import { foothill, woods } from "../scene/woods.ts";
import { range } from "./range.ts";
import type { Footing, Setting, Spot } from "./setting.ts";

/** A range of peaks, mirrored in the water before it. */
export function lake(stage: Stage, footing: Footing): Setting {
  const { height, horizon, unit } = stage;
  const shore = foothill(stage, horizon + unit * 0.004, unit * 0.03, "shore");
  const far = [
    ...range(stage, horizon),
    ...woods(stage, { ridge: shore, distance: 0.25, tall: unit * 0.06 }),
  ];
  return {
    back: far.map((layer) => ({ ...layer, bottom: Math.min(layer.bottom, Math.ceil(horizon)) })),
    waterline: horizon,
    front: bank(stage, height - unit * 0.06),
    spot: spotFor(stage, footing),
  };
}

/** The near side, where the viewer stands. */
function bank(stage: Stage, base: number): Layer[] {
  const { width, height, unit } = stage;
  const ridge = foothill(stage, base, unit * 0.06, "near");
  const clearing = {
    x: width * (lightSide(stage) > 0 ? 0.33 : 0.67),
    reach: Math.min(unit * 0.3, width * 0.24),
  };
  const ground = lit(stage, snowed(stage, stage.land.near, 0.7));
  return [
    ...woods(stage, { ridge, distance: 0.04, tall: unit * 0.12, clearing }),
    fillFading([landUnder(stage, ridge, height)], brighter(ground, 0.7), brighter(ground, 0.3)),
  ];
}

/** On the far shore, in the water, or over it. */
function spotFor(stage: Stage, footing: Footing): Spot {
  const { width, height, unit, horizon } = stage;
  const x = width * (lightSide(stage) > 0 ? 0.32 : 0.68);
  const reach = Math.min(unit * 0.3, width * 0.24);
  if (footing === "none") return { x, y: horizon * 0.6, height: unit * 0.46, reach };
  const y = footing === "water" ? horizon + (height - horizon) * 0.4 : horizon - unit * 0.005;
  return { x, y, height: Math.min(unit * 0.42, horizon * 0.65), reach };
}
