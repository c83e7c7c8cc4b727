import { fill, fillFading, fillRows } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Point } from "../canvas/outline.ts";
import { brighter, mix } from "../color/rgb.ts";
import { landUnder, type Ridge } from "../scene/ridge.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Footing, Setting, Spot } from "./setting.ts";

/** Open water with far headlands; a subject that needs ground gets a rock. */
export function sea(stage: Stage, footing: Footing): Setting {
  const spot = spotFor(stage, footing);
  const rock = footing === "ground" ? rockUnder(stage, spot) : [];
  return { back: [...headlands(stage), ...rock], waterline: stage.horizon, front: [], spot };
}

function spotFor(stage: Stage, footing: Footing): Spot {
  const { width, height, unit, horizon } = stage;
  const draw = stage.random("spot");
  const x = width * (lightSide(stage) > 0 ? draw.between(0.26, 0.36) : draw.between(0.64, 0.74));
  const room = Math.min(horizon * 0.8, unit * 0.62, width * 1.1);
  if (footing === "water") {
    const depth = (height - horizon) * draw.between(0.22, 0.34);
    return {
      x,
      y: horizon + depth,
      height: Math.min(room, unit * 0.5),
      reach: Math.min(unit * 0.34, width * 0.24),
    };
  }
  const y = horizon - Math.min(unit * 0.1, width * 0.14);
  return { x, y, height: Math.min(room, y * 0.88), reach: Math.min(unit * 0.3, width * 0.24) };
}

function headlands(stage: Stage): Layer[] {
  const { horizon, unit } = stage;
  const draw = stage.random("headlands");
  return [0.72, 0.5].map((distance): Layer => {
    const rise = unit * draw.between(0.05, 0.1);
    const ridge: Ridge = {
      base: horizon + rise * draw.between(-0.1, 0.35),
      rise,
      span: unit * draw.between(0.4, 0.7),
      roughness: 4,
      offset: draw.between(0, 200),
    };
    const color = lit(stage, mix(stage.land.far, stage.land.rock, 0.4), distance);
    return clipped(
      fillFading([landUnder(stage, ridge, horizon + rise)], color, mix(color, stage.light.haze, 0.4)),
      horizon,
    );
  });
}

/** Land ends at the waterline, so that the mirror image begins there. */
function clipped(layer: Layer, bottom: number): Layer {
  return { ...layer, bottom: Math.ceil(bottom) };
}

function rockUnder(stage: Stage, spot: Spot): Layer[] {
  const { horizon, unit } = stage;
  const draw = stage.random("rock");
  const half = Math.min(unit * 0.42, stage.width * 0.4);
  const rise = horizon - spot.y;
  const crest: Point[] = [];
  for (let i = 0; i <= 40; i++) {
    const t = (i / 40) * 2 - 1;
    const shape = (1 - Math.abs(t) ** 2.2) ** 0.8 * 1.12;
    const crag = Math.abs(t) < 0.2 ? 0 : draw.between(-0.16, 0.1) * (1 - Math.abs(t));
    crest.push([spot.x + t * half, horizon - rise * Math.max(0, Math.min(shape, 1.04) + crag)]);
  }
  const color = lit(stage, brighter(stage.land.rock, 0.62), 0.06);
  const grass = lit(stage, stage.land.near, 0.12);
  const outline = [...crest, [spot.x + half, horizon + 2] as const, [spot.x - half, horizon + 2] as const];
  const turf = [...crest, ...crest.map(([x, y]): Point => [x, y + rise * 0.16]).reverse()];
  return [
    fillRows([outline], (y) => mix(grass, color, Math.min(1, Math.max(0, (y - spot.y) / (rise * 0.5))))),
    fill([turf], grass, 0.5),
  ].map((layer) => clipped(layer, horizon + 1));
}
