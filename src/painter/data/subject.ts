import { type Footing, SCENERIES, type SceneryName } from "./scenery.ts";

/**
 * A drawing is 100 units high: y is 0 at the crown and 100 at the foot, x is 50 in the middle. Each line is a
 * colour, signs, and shapes in the notation of canvas/outline.ts, the first line lowest; of lines that begin with a
 * number, only those of one number are drawn.
 *
 * A colour is one of the subject's own or one that every drawing has (scene/drawing.ts). Signs after it: `-` darker,
 * `+` paler, `!` not changed by the light, `/50` half transparent, `=` drawn on both sides, `~` round, `>` a fading
 * beam, `*` a glow at `x y radius`. The colour `shade` is none of its own: it makes what is there look round.
 */
export interface PictureSubject {
  readonly on: Footing;
  /** Units to either side of the middle. */
  readonly half: number;
  /** Where it is at home when the prompt names no place. */
  readonly homes: readonly SceneryName[];
  /** Whether there are smaller ones behind it. */
  readonly hasFlock: boolean;
  /** Names of colours, each with those to choose from, if any. The first one gives way to the prompt's. */
  readonly colors: readonly (readonly [name: string, ...choice: string[]])[];
  readonly drawing: string;
}

/**
 * Reads a subject: a line with footing, half width, homes, and `flock`; a line of colours, separated by commas; the
 * drawing.
 */
export function readSubject(text: string): PictureSubject {
  const [first = "", second = "", ...drawing] = text.trim().split("\n");
  const [on, half, ...rest] = first.split(" ");
  const colors = second.split(", ").map((entry) => {
    const [name = "", ...choice] = entry.split(" ");
    return [name, ...choice] as const;
  });
  return {
    on: on === "water" || on === "air" ? on : "ground",
    half: Number(half),
    homes: rest.filter((name): name is SceneryName => Object.hasOwn(SCENERIES, name)),
    hasFlock: rest.includes("flock"),
    colors,
    drawing: drawing.join("\n"),
  };
}
