import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import { flower } from "../scene/flower.ts";
import { crown, grass, trunk } from "../scene/plants.ts";
import { landUnder, type Ridge, ridgeAt } from "../scene/ridge.ts";
import { snowed } from "../scene/snow.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Random } from "../seed/random.ts";
import type { Footing, Setting, Spot } from "./setting.ts";

/** Rolling hills, and flowers at the viewer's feet. */
export function meadow(stage: Stage, footing: Footing): Setting {
  const { width, height, horizon, unit } = stage;
  const draw = stage.random("meadow");
  const depth = height - horizon;
  const hills = [0, 0.2, 0.42].map((down, i) =>
    hill(stage, draw, horizon + depth * down, unit * (0.06 - 0.01 * i)),
  );
  const last = hills.at(-1) as Ridge;
  const x = width * (lightSide(stage) > 0 ? draw.between(0.3, 0.42) : draw.between(0.58, 0.7));
  const y = ridgeAt(stage, last, x) + unit * 0.03;
  const spot: Spot = {
    x,
    y,
    height: Math.min(unit * 0.5, y * 0.6),
    reach: Math.min(unit * 0.32, width * 0.3),
  };
  return {
    back: hills.flatMap((ridge, i) => slope(stage, draw, ridge, 0.5 - 0.2 * i, i < 2)),
    front: flowers(stage, draw, last, footing),
    spot: footing === "none" ? { ...spot, y: horizon * 0.55 } : spot,
  };
}

function hill(stage: Stage, draw: Random, base: number, rise: number): Ridge {
  return {
    base,
    rise,
    span: stage.unit * draw.between(0.5, 0.8),
    roughness: 1,
    offset: draw.between(0, 200),
  };
}

function slope(stage: Stage, draw: Random, ridge: Ridge, distance: number, wooded: boolean): Layer[] {
  const { unit, width, height, land } = stage;
  const green = snowed(stage, mix(land.near, draw.pick(land.foliage), 0.35), 0.85);
  const color = lit(stage, green, distance);
  const ground = fillFading(
    [landUnder(stage, ridge, height)],
    mix(color, stage.light.glow, 0.22),
    brighter(color, 0.6),
  );
  if (!wooded) {
    const tufts = grass(
      draw,
      width,
      (x) => ridgeAt(stage, ridge, x),
      unit * 0.03,
      Math.round((width / unit) * 220),
    );
    return [fill(tufts, mix(color, stage.light.glow, 0.12)), ground];
  }
  const trees = Array.from({ length: Math.ceil((width / unit) * 7) }, () => ({
    x: draw.between(0, width),
    tall: unit * draw.between(0.06, 0.13),
  }));
  const leaf = lit(stage, brighter(snowed(stage, draw.pick(land.foliage), 0.4), 0.8), distance);
  const foot = (x: number) => ridgeAt(stage, ridge, x) + unit * 0.005;
  return [
    fill(
      trees.flatMap((tree) => trunk(draw, tree.x, foot(tree.x), tree.tall)),
      lit(stage, hex("5a4335"), distance),
    ),
    fillFading(
      trees.flatMap((tree) => crown(draw, tree.x, foot(tree.x), tree.tall, 1.2, 0)),
      leaf,
      brighter(leaf, 0.75),
    ),
    ground,
  ];
}

/** Small ones on the slope, large ones in front; larger still where there is nothing else to look at. */
function flowers(stage: Stage, draw: Random, ridge: Ridge, footing: Footing): Layer[] {
  const { width, height, unit } = stage;
  const rows = [0.1, 0.3, 0.55, 0.8, 1];
  const boldest = footing === "ground" ? 0.2 : 0.34;
  return rows.flatMap((near) => {
    const count = Math.ceil((width / unit) * (26 - 17 * near));
    const tall = Math.min(unit * (0.04 + boldest * near * near), height * 0.3);
    return Array.from({ length: count }, (_, i) => {
      const x = width * ((i + draw.between(0, 1)) / count);
      const foot = ridgeAt(stage, ridge, x);
      const y = foot + (height * 1.04 - foot) * near + tall * draw.between(0, 0.25);
      return flower(stage, draw, x, y, tall * draw.between(0.7, 1.15), 0.14 * (1 - near));
    }).flat();
  });
}
