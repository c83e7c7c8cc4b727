import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { curve } from "../canvas/outline.ts";
import { brighter, hex, mix } from "../color/rgb.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { type Pen, penFor } from "./pen.ts";

/** A small sailing boat, running towards the light. */
export function boat(stage: Stage, spot: Spot): Layer[] {
  const pen = penFor(spot, 100, 46, lightSide(stage));
  const { at } = pen;
  const wake = [
    ...curve(at(-60, -1), at(0, 2.4), at(58, -1)),
    ...curve(at(58, -1), at(0, -2.6), at(-60, -1)),
  ];
  return [
    ...rig(stage, pen),
    ...hull(stage, pen),
    fill([wake], mix(stage.light.orb, stage.light.glow, 0.4), 0.35),
  ];
}

function rig(stage: Stage, { at, box }: Pen): Layer[] {
  const draw = stage.random("sails");
  const cloth = stage.accent ?? draw.pick([hex("f8efdc"), hex("f8efdc"), hex("d9583f"), hex("e8b04a")]);
  const sail = lit(stage, cloth);
  const main = [
    ...curve(at(-2, 96), at(-6, 50), at(-3, 19)),
    ...curve(at(-3, 19), at(-20, 16), at(-38, 20)),
    ...curve(at(-38, 20), at(-26, 62), at(-2, 96)),
  ];
  const jib = [
    ...curve(at(2, 90), at(6, 50), at(3, 20)),
    ...curve(at(3, 20), at(18, 17), at(36, 20)),
    ...curve(at(36, 20), at(22, 50), at(2, 90)),
  ];
  const seams = [36, 56, 74].map((up) => {
    const leech = -34 + up * 0.3;
    return [at(-2, up), at(leech, up - 3), at(leech, up - 3.6), at(-2, up - 0.7)];
  });
  return [
    fill([box(-0.7, 98, 1.4, 86)], lit(stage, hex("5a4030"))),
    fillFading([main], mix(sail, stage.light.glow, 0.35), brighter(sail, 0.86)),
    fill(seams, brighter(sail, 0.7), 0.6),
    fillFading([jib], mix(sail, stage.light.glow, 0.2), brighter(sail, 0.72)),
    fill([[at(0, 98), at(-10, 95.5), at(0, 93.5)]], lit(stage, hex("d8402f"))),
  ];
}

function hull(stage: Stage, { at }: Pen): Layer[] {
  const draw = stage.random("hull");
  const paint = lit(stage, draw.pick([hex("7a3b2a"), hex("f0ebe0"), hex("2f4f6f"), hex("9a2f2f")]));
  const rail = curve(at(-40, 15), at(0, 10), at(44, 17));
  const body = [
    ...rail,
    ...curve(at(44, 17), at(36, 0), at(26, 0)),
    ...curve(at(-30, 0), at(-38, 4), at(-40, 15)),
  ];
  const gunwale = [...rail, ...curve(at(44, 14.5), at(0, 7.5), at(-39.6, 12.5))];
  const sailor = [
    ...curve(at(-27, 13), at(-26, 24), at(-23, 24)),
    ...curve(at(-23, 24), at(-19, 24), at(-19, 13)),
  ];
  return [
    fill([sailor], lit(stage, hex("2f3a4f"))),
    fillFading([body], paint, brighter(paint, 0.55)),
    fill([gunwale], mix(paint, lit(stage, hex("fff4e0")), 0.55)),
  ];
}
