import { fill, fillFading } from "../canvas/fill.ts";
import { circle, ellipse, rectangle } from "../canvas/outline.ts";
import { brighter, mix } from "../color/rgb.ts";
import { lit, type Stage } from "../scene/stage.ts";
import type { Setting } from "./setting.ts";

/** A plain wall with a disc of light, and a few leaves: where people sit for their portrait. */
export function studio(stage: Stage): Setting {
  const { width, height, unit, light, land } = stage;
  const draw = stage.random("studio");
  const wall = mix(
    draw.pick([light.haze, land.water, light.sky[0], draw.pick(land.foliage)]),
    light.haze,
    0.35,
  );
  const size = Math.min(unit * 0.42, width * 0.46, height * 0.46);
  const x = width / 2;
  const y = height * 0.5 - (height > width ? 0 : size * 0.1);
  const leaf = lit(stage, draw.pick(land.foliage), 0.1);
  const sprigs = Array.from({ length: 22 }, (_, i) => {
    const angle = (i / 22) * Math.PI * 2;
    const away = size * draw.between(1, 1.1);
    return ellipse(
      x + Math.cos(angle) * away,
      y + Math.sin(angle) * away,
      size * 0.2,
      size * 0.065,
      angle + draw.between(0.5, 1.1),
    );
  });
  const foot = Math.min(height, y + size * 1.62);
  return {
    back: [
      fillFading([rectangle(-1, -1, width + 2, height + 2)], wall, brighter(wall, 0.72)),
      fill(sprigs, leaf),
      fill([circle(x, y, size)], mix(light.orb, light.glow, 0.45)),
    ],
    front: [],
    spot: {
      x,
      y: foot,
      height: Math.min(size * 2.35, foot * 0.94),
      reach: Math.min(size * 1.15, width * 0.48),
    },
  };
}
