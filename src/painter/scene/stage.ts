import { mix, type Rgb } from "../canvas/color.ts";
import type { Layer } from "../canvas/fill.ts";
import { type Noise, type Random, seededRandom, valueNoise } from "../random.ts";
import type { Brief } from "../words/brief.ts";

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
  /** Whether there is one that stands on the ground. */
  readonly isGrounded: boolean;
  readonly isWinter: boolean;
  /** What grows here. */
  readonly trees: "pine" | "tree";
  readonly flowers: "daisy" | "tulip";
  readonly noise: Noise;
  /** A stream of numbers of its own for each purpose, so that one part does not move another. */
  random(purpose: string): Random;
  /** The line of the last hill against what is behind it, for every column; smaller is higher. */
  crest: (x: number) => number;
  /** The last layer that covers the frame from some row down. */
  ground: Layer | undefined;
}

/** A part of a scene. Parts are made in the order in which they are painted, and may move the crest. */
export type Part = (stage: Stage) => readonly Layer[];

export function buildStage(brief: Brief, width: number, height: number): Stage {
  const random = (purpose: string) => seededRandom(`${purpose}\n${brief.seed}`);
  // A mere stripe must not be filled with thousands of things too small to see.
  const least = Math.max(width, height) / 16;
  const unit = Math.max(least, Math.min(Math.sqrt(width * height), 1.6 * Math.min(width, height)));
  const draw = random("stage");
  const horizon = height * draw.between(0.56, 0.7);
  const side = draw.chance(0.5) ? 1 : -1;
  const isWinter = brief.land.snow === 1;
  const altitude = Math.min(0.86, brief.light.altitude * draw.between(0.75, 1.2));
  const orbX = width * (0.5 + side * draw.between(0.14, 0.32));
  return {
    ...brief,
    width,
    height,
    unit,
    horizon,
    side,
    isWinter,
    random,
    orb: { x: orbX, y: horizon * (1 - altitude), radius: unit * draw.between(0.045, 0.07) },
    subjectX: width * (0.5 - side * draw.between(0.06, 0.21)),
    isGrounded: brief.subject?.isAfloat === false,
    trees: isWinter || draw.chance(0.4) ? "pine" : "tree",
    flowers: draw.pick(["daisy", "daisy", "tulip"]),
    noise: valueNoise(random("noise")),
    crest: () => horizon,
    ground: undefined,
  };
}

/** Notes that a layer covers all below row `from`, where the one that did so before need not be painted. */
export function covering(stage: Stage, layer: Layer, from: number): Layer {
  if (stage.ground) stage.ground.bottom = Math.min(stage.ground.bottom, Math.ceil(from));
  stage.ground = layer;
  return layer;
}

/** `color` as it looks on this stage, at a distance of 0 (here) to 1 (lost in haze); mist takes it further away. */
export function lit({ light, weather }: Stage, color: Rgb, distance = 0): Rgb {
  const [red, green, blue] = light.tint;
  const mist = weather === "mist" && distance > 0 ? 0.4 : 0;
  const tinted: Rgb = [color[0] * red, color[1] * green, color[2] * blue];
  return mix(tinted, light.haze, distance + mist * (1 - distance));
}

/** Whether the prompt rules out what any of these words stand for. */
export function isExcluded({ excluded }: Stage, words: string): boolean {
  return words.split(" ").some((word) => excluded.has(word));
}
