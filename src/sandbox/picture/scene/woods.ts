import { fill } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Contour } from "../canvas/outline.ts";
import { brighter, mix } from "../color/rgb.ts";
import { pine } from "./plants.ts";
import { landUnder, type Ridge, ridgeAt } from "./ridge.ts";
import { snowed } from "./snow.ts";
import { lit, type Stage } from "./stage.ts";

/** What grows on a ridge. Lengths in pixels. */
interface Woods {
  readonly ridge: Ridge;
  /** 0 is here, 1 lost in haze. */
  readonly distance: number;
  readonly tall: number;
  /** A place to leave free of trees. */
  readonly clearing?: { readonly x: number; readonly reach: number } | undefined;
}

/** A hill with conifers in clusters. */
export function woods(stage: Stage, { ridge, distance, tall, clearing }: Woods): Layer[] {
  const draw = stage.random(`woods ${distance}`);
  const count = Math.round(Math.min(700, (stage.width / tall) * 4.5));
  const trees: Contour[] = [];
  for (let i = 0; i < count; i++) {
    const x = stage.width * draw.between(-0.02, 1.02);
    const size = tall * draw.between(0.5, 1.1);
    const free = clearing === undefined || Math.abs(x - clearing.x) > clearing.reach;
    const dense = stage.noise(x / (stage.unit * 0.22) + distance * 70, 5.5) > -0.25;
    if (free && dense) trees.push(pine(draw, x, ridgeAt(stage, ridge, x) + tall * 0.08, size));
  }
  const leaf = mix(draw.pick(stage.land.foliage), stage.land.near, 0.3);
  const color = lit(stage, brighter(snowed(stage, leaf, 0.35), 0.55), distance);
  const floor = lit(stage, snowed(stage, brighter(leaf, 0.7), 0.6), distance);
  return [fill([landUnder(stage, ridge, stage.height)], floor), fill(trees, color)];
}

/** A gentle ridge of its own for each `name`. */
export function foothill(stage: Stage, base: number, rise: number, name: string): Ridge {
  const draw = stage.random(name);
  const span = stage.unit * draw.between(0.45, 0.7);
  return { base, rise, span, roughness: 2, offset: draw.between(0, 200) };
}
