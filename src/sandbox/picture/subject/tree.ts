import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { ellipse } from "../canvas/outline.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import { crown, trunk } from "../scene/plants.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";

/** One great tree. */
export function tree(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("tree");
  const tall = Math.min(spot.height * 1.25, spot.reach * 2.6, spot.y * 0.9);
  const leaf = lit(stage, stage.accent ?? draw.pick(stage.land.foliage));
  const side = lightSide(stage) * tall * 0.04;
  const bark = lit(stage, hex("5f4636"));
  const shades = [0.55, 0.75, 0.95].map((bright, i) =>
    fillFading(
      crown(draw, spot.x + side * (i - 1), spot.y, tall, 1.15 - 0.22 * i, i * 0.025),
      mix(brighter(leaf, bright * 1.1), stage.light.glow, 0.1 * i),
      brighter(leaf, bright * 0.8),
    ),
  );
  const sparkles = fill(
    crown(draw, spot.x + side * 2, spot.y, tall, 0.4, 0.05),
    mix(leaf, stage.light.glow, 0.45),
    0.3,
  );
  return [
    fill(
      [ellipse(spot.x, spot.y, tall * 0.36, tall * 0.03)],
      lit(stage, brighter(stage.land.near, 0.3)),
      0.5,
    ),
    ...shades.slice(0, 1),
    fillFading(trunk(draw, spot.x, spot.y, tall), brighter(bark, 0.8), bark),
    ...shades.slice(1),
    sparkles,
  ];
}
