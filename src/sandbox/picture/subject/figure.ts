import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import type { Point } from "../canvas/outline.ts";
import { path } from "../canvas/path.ts";
import { brighter, mix, type Rgb } from "../color/rgb.ts";
import { lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";

/**
 * One contour of a drawing and the name of its colour. Drawings are 100 units high: y is 0 at the crown
 * and 100 at the ground, and x is 50 in the middle.
 */
export interface Part {
  readonly tone: string;
  readonly outline: string;
  /** Drawn a second time on the other side. */
  readonly twin?: boolean;
}

type Tones = Readonly<Record<string, Rgb>>;

/** How a drawing may be turned and sized. */
interface Pose {
  /** Units to either side of the middle. */
  readonly halfWidth: number;
  /** -1 looks the other way. */
  readonly facing: 1 | -1;
}

/** A drawing of flat parts, each a little lighter towards the sky. */
export function figure(stage: Stage, spot: Spot, parts: readonly Part[], tones: Tones, pose: Pose): Layer[] {
  const place = placer(spot, pose);
  return parts.map((part) => {
    const contours = [place(part.outline, 1), ...(part.twin ? [place(part.outline, -1)] : [])];
    const plain = tones[part.tone] ?? [0, 0, 0];
    // Whom the picture is about may be a little brighter than the light allows.
    const color = mix(lit(stage, plain), plain, 0.25);
    if (part.tone === "glint") return fill(contours, plain);
    return fillFading(contours, mix(color, stage.light.glow, 0.22), brighter(color, 0.8));
  });
}

/** The size in pixels of one unit of a drawing in this spot. */
export function unitOf(spot: Spot, halfWidth: number): number {
  return Math.min(spot.height / 100, spot.reach / halfWidth);
}

function placer(spot: Spot, pose: Pose): (outline: string, side: 1 | -1) => Point[] {
  const unit = unitOf(spot, pose.halfWidth);
  return (outline, side) => {
    const scaleX = unit * pose.facing * side;
    return path(outline, { x: spot.x - 50 * scaleX, y: spot.y - 100 * unit, scaleX, scaleY: unit });
  };
}
