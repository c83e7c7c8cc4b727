import { fill } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { circle, curve, ellipse, type Point, ribbon } from "../canvas/outline.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import type { Random } from "../seed/random.ts";
import { lit, type Stage } from "./stage.ts";

/** A flower whose stem starts at (`x`, `y`) and is `tall` pixels high. */
export function flower(
  stage: Stage,
  draw: Random,
  x: number,
  y: number,
  tall: number,
  distance: number,
): Layer[] {
  const lean = tall * draw.between(-0.2, 0.2);
  const head: Point = [x + lean, y - tall];
  const stem = ribbon(curve([x, y], [x, y - tall * 0.6], head, 8), () => tall * 0.028);
  const leaf = ellipse(x + tall * 0.09, y - tall * 0.3, tall * 0.12, tall * 0.032, -0.6);
  const twin = ellipse(x - tall * 0.09, y - tall * 0.22, tall * 0.12, tall * 0.03, 0.7);
  const green = lit(stage, brighter(draw.pick(stage.land.foliage), 0.8), distance);
  const color = lit(
    stage,
    stage.accent && draw.chance(0.75) ? stage.accent : draw.pick(stage.land.blossom),
    distance,
  );
  return [
    fill([stem, leaf, twin], green),
    ...draw.pick([daisy, daisy, tulip, poppy])(stage, draw, head, tall * 0.2, color),
  ];
}

type Head = (
  stage: Stage,
  draw: Random,
  at: Point,
  size: number,
  color: readonly [number, number, number],
) => Layer[];

const daisy: Head = (stage, draw, [x, y], size, color) => {
  const petals = draw.integer(7, 12);
  const turn = draw.between(0, 1);
  const ring = (length: number, shift: number) =>
    Array.from({ length: petals }, (_, i) => {
      const angle = ((i + shift) / petals) * 2 * Math.PI + turn;
      return ellipse(
        x + Math.cos(angle) * length * 0.62,
        y + Math.sin(angle) * length * 0.56,
        length * 0.46,
        length * 0.2,
        angle,
      );
    });
  const heart = lit(stage, hex("6b4420"));
  const light = mix(color, stage.light.glow, 0.25);
  return [
    fill(ring(size, 0), brighter(color, 0.82)),
    fill(ring(size * 0.92, 0.5), light),
    fill([circle(x, y, size * 0.3)], heart),
    fill([circle(x - size * 0.05, y - size * 0.06, size * 0.2)], brighter(heart, 1.5)),
  ];
};

const tulip: Head = (stage, _draw, [x, y], size, color) => {
  const petal = (shift: number, turn: number) =>
    ellipse(x + shift * size, y - size * 0.2, size * 0.34, size * 0.72, turn);
  return [
    fill([petal(-0.3, -0.25), petal(0.3, 0.25)], brighter(color, 0.8)),
    fill([petal(0, 0)], mix(color, stage.light.glow, 0.15)),
  ];
};

const poppy: Head = (stage, _draw, [x, y], size, color) => {
  const bowl = [
    ellipse(x - size * 0.35, y, size * 0.5, size * 0.56),
    ellipse(x + size * 0.35, y, size * 0.5, size * 0.56),
  ];
  return [
    fill([...bowl, ellipse(x, y - size * 0.2, size * 0.6, size * 0.5)], brighter(color, 0.85)),
    fill([ellipse(x, y + size * 0.14, size * 0.62, size * 0.46)], mix(color, stage.light.glow, 0.18)),
    fill([circle(x, y, size * 0.2)], lit(stage, hex("2b2430"))),
  ];
};
