import { hex, mix, type Rgb } from "../color/rgb.ts";
import type { Stage } from "./stage.ts";

export const SNOW: Rgb = hex("f4f8ff");

/** `color` with its share of snow, if this is a land in winter. */
export function snowed(stage: Stage, color: Rgb, share: number): Rgb {
  return inWinter(stage) ? mix(color, SNOW, share) : color;
}

export function inWinter(stage: Stage): boolean {
  return stage.land.snow > 0.6;
}
