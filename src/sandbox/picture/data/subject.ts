import type { Footing, SettingName } from "./settings.ts";

/**
 * A drawing is 100 units high: y is 0 at the crown and 100 at the foot, x is 50 in the middle. Each line is a
 * colour, signs, and shapes in the notation of canvas/notation.ts, the first line lowest.
 *
 * A colour is one of the subject's own or one that every drawing has (scene/drawing.ts). Signs after it: `-` darker,
 * `+` paler, `!` not changed by the light, `/50` half transparent, `=` drawn on both sides, `~` round, `>` a fading
 * beam, `*` a glow at `x y radius`. The colour `shade` is none of its own: it makes what is there look round.
 */
export interface Subject {
  readonly on: Footing;
  /** Units to either side of the middle. */
  readonly half: number;
  /** Where it is at home when the prompt names no place. */
  readonly homes: readonly [SettingName, ...SettingName[]];
  /** Names of colours, each with those to choose from, if any. The first one gives way to the prompt's. */
  readonly colors: readonly (readonly [name: string, ...choice: string[]])[];
  readonly drawing: string;
  /** One of them is taken for each picture, before the rest. */
  readonly variants?: readonly [string, ...string[]];
  /** How many smaller ones there are behind it. */
  readonly flock?: number;
}

/** The first line of `text` lists the colours, separated by commas; the rest is the drawing. */
export function subject(on: Footing, half: number, homes: Subject["homes"], text: string): Subject {
  const [first = "", ...drawing] = text.trim().split("\n");
  const colors = first.split(", ").map((entry) => {
    const [name = "", ...choice] = entry.split(" ");
    return [name, ...choice] as const;
  });
  return { on, half, homes, colors, drawing: drawing.join("\n") };
}
