import type { Land } from "../color/land.ts";
import type { Light } from "../color/light.ts";
import { mix, type Rgb, under } from "../color/rgb.ts";
import { type Noise, valueNoise } from "../seed/noise.ts";
import { type Random, seededRandom } from "../seed/random.ts";

/** Everything a part of a scene needs to draw itself. All lengths are pixels of the frame. */
export interface Stage {
  readonly width: number;
  readonly height: number;
  /** A length that suits the frame, whatever its ratio: a person would call it "the size of the picture". */
  readonly unit: number;
  readonly light: Light;
  readonly land: Land;
  /** The colour the prompt asks for, if it names one. */
  readonly accent: Rgb | undefined;
  /** The sun or moon. */
  readonly orb: { readonly x: number; readonly y: number; readonly radius: number };
  readonly horizon: number;
  readonly noise: Noise;
  /** A stream of numbers of its own for each purpose, so that one part does not move another. */
  random(purpose: string): Random;
}

interface StageSpec {
  readonly seed: string;
  readonly width: number;
  readonly height: number;
  readonly light: Light;
  readonly land: Land;
  readonly accent: Rgb | undefined;
  /** The moon is what the picture is about, so it is larger than life. */
  readonly moonlit: boolean;
}

export function buildStage(spec: StageSpec): Stage {
  const { width, height, light } = spec;
  const random = (purpose: string) => seededRandom(`${purpose}\n${spec.seed}`);
  // A mere stripe must not be filled with thousands of things too small to see.
  const least = Math.max(width, height) / 16;
  const unit = Math.max(least, Math.min(Math.sqrt(width * height), 1.6 * Math.min(width, height)));
  const draw = random("stage");
  const horizon = height * draw.between(0.6, 0.68);
  const side = draw.chance(0.5) ? draw.between(0.64, 0.8) : draw.between(0.2, 0.36);
  const altitude = Math.min(horizon * 0.86, horizon * light.altitude * draw.between(0.8, 1.2));
  const orb = {
    x: width * side,
    y: horizon - altitude,
    radius: unit * draw.between(0.045, 0.07) * (spec.moonlit ? 1.8 : 1),
  };
  return { ...spec, unit, horizon, orb, noise: valueNoise(random("noise")), random };
}

/** `color` as it looks on this stage, at a distance of 0 (here) to 1 (lost in haze). */
export function lit(stage: Stage, color: Rgb, distance = 0): Rgb {
  return mix(under(color, stage.light.tint), stage.light.haze, distance);
}

/** -1 if the sun or moon stands in the left half of the picture, 1 if in the right. */
export function lightSide(stage: Stage): -1 | 1 {
  return stage.orb.x < stage.width / 2 ? -1 : 1;
}
