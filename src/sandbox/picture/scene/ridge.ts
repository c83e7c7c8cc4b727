import type { Point } from "../canvas/outline.ts";
import { fractal } from "../seed/noise.ts";
import type { Stage } from "./stage.ts";

/** The line where a range of hills meets the sky. Lengths in pixels. */
export interface Ridge {
  /** The height on the screen around which the line moves. */
  readonly base: number;
  readonly rise: number;
  /** Distance between neighbouring hills. */
  readonly span: number;
  /** 1 for dunes, 2 for hills, 5 for rocks. */
  readonly roughness: number;
  /** Tells ridges of one picture apart. */
  readonly offset: number;
}

/** Height of the ridge on the screen above `x`; smaller is higher. */
export function ridgeAt(stage: Stage, ridge: Ridge, x: number): number {
  return (
    ridge.base -
    ridge.rise * fractal(stage.noise, x / ridge.span + ridge.offset, ridge.offset, ridge.roughness)
  );
}

/** The land under a ridge, down to `bottom`. */
export function landUnder(stage: Stage, ridge: Ridge, bottom: number): Point[] {
  const steps = Math.max(
    24,
    Math.min(900, Math.ceil((stage.width / ridge.span) * 2 ** ridge.roughness * 2.5)),
  );
  const crest = Array.from({ length: steps + 1 }, (_, i): Point => {
    const x = -2 + ((stage.width + 4) * i) / steps;
    return [x, ridgeAt(stage, ridge, x)];
  });
  return [...crest, [stage.width + 2, bottom], [-2, bottom]];
}
