import { brighter, hexes, luminance, mix, type Rgb, tuned, under } from "../canvas/rgb.ts";
import { PALETTES } from "../data/palettes.ts";
import { type Noise, type Random, seededRandom, valueNoise } from "../random.ts";
import type { Brief } from "../words/brief.ts";

const CREAM: Rgb = [255, 250, 240];

/** Everything a part of a scene needs to draw itself. All lengths are pixels of the frame. */
export interface Stage extends Brief {
  readonly width: number;
  readonly height: number;
  /** A length that suits the frame, whatever its ratio: a person would call it "the size of the picture". */
  readonly unit: number;
  readonly horizon: number;
  /** The sun or moon. */
  readonly orb: { readonly x: number; readonly y: number; readonly radius: number };
  /** -1 if the light comes from the left, 1 if from the right. */
  readonly side: -1 | 1;
  /** Where the subject stands, on the other side. */
  readonly subjectX: number;
  /** How much larger than usual the subject is. */
  readonly nearness: number;
  readonly isWinter: boolean;
  /** Colours of compositions: those that the prompt names, or some of ours; the first is for the ground. */
  readonly palette: readonly [Rgb, ...Rgb[]];
  readonly noise: Noise;
  /** A stream of numbers of its own for each purpose, so that one part does not move another. */
  random(purpose: string): Random;
}

export function buildStage(brief: Brief, width: number, height: number): Stage {
  const { light, land, moonlit, seed } = brief;
  const random = (purpose: string) => seededRandom(`${purpose}\n${seed}`);
  // A mere stripe must not be filled with thousands of things too small to see.
  const least = Math.max(width, height) / 16;
  const unit = Math.max(least, Math.min(Math.sqrt(width * height), 1.6 * Math.min(width, height)));
  const draw = random("stage");
  const horizon = height * draw.between(0.56, 0.7);
  const side = draw.chance(0.5) ? 1 : -1;
  const altitude = Math.min(horizon * 0.86, horizon * light.altitude * draw.between(0.75, 1.2));
  return {
    ...brief,
    width,
    height,
    unit,
    horizon,
    side,
    orb: {
      x: width * (0.5 + side * draw.between(0.14, 0.32)),
      y: horizon - altitude,
      radius: unit * draw.between(0.045, 0.07) * (moonlit ? 1.8 : 1),
    },
    subjectX: width * (0.5 - side * draw.between(0.06, 0.21)),
    nearness: draw.between(0.85, 1.15),
    isWinter: land.snow === 1,
    palette: paletteOf(brief, random("palette")),
    noise: valueNoise(random("noise")),
    random,
  };
}

/** `color` as it looks on this stage, at a distance of 0 (here) to 1 (lost in haze); mist takes it further away. */
export function lit({ light, weather }: Stage, color: Rgb, distance = 0): Rgb {
  const mist = weather === "mist" && distance > 0 ? 0.4 : 0;
  return mix(under(color, light.tint), light.haze, distance + mist * (1 - distance));
}

/** Whether the prompt rules out what all of these words stand for. */
export function isExcluded({ excluded }: Pick<Brief, "excluded">, words: string): boolean {
  return excluded.size > 0 && words.split(" ").some((word) => excluded.has(word));
}

/** The colours of the prompt, with their shades and a neighbour; where it names none, a palette of ours. */
function paletteOf({ colors, light }: Brief, draw: Random): [Rgb, ...Rgb[]] {
  const isNight = luminance(light.sky[0]) < 60;
  const paper = isNight ? mix(light.sky[0], [20, 22, 40], 0.4) : mix(light.haze, CREAM, 0.72);
  const ours = hexes(draw.pick(PALETTES));
  const turn = draw.pick([-0.5, 0.5]);
  const shades = colors.flatMap((color) => [
    color,
    mix(color, CREAM, 0.5),
    brighter(color, 0.62),
    tuned(color, turn, 1),
  ]);
  return [paper, ...shades, ...ours.slice(0, [5, 2][colors.length] ?? 0)];
}
