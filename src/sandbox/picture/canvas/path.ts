import type { Point } from "./outline.ts";

/** Where a drawing made in its own coordinates goes. Negative scales mirror it. */
interface Placement {
  readonly x: number;
  readonly y: number;
  readonly scaleX: number;
  readonly scaleY: number;
}

const CURVE_STEPS = 14;

/**
 * Reads one contour in the notation of SVG paths: absolute `M`, `L`, `C` and `Q`, numbers separated by
 * blanks. The contour closes by itself.
 */
export function path(notation: string, at: Placement): Point[] {
  const points: Point[] = [];
  for (const [, command, numbers] of notation.matchAll(/([MLCQ])([^MLCQ]*)/g)) {
    const targets = pointsOf(numbers ?? "");
    if (command === "M" || command === "L") points.push(...targets);
    else appendCurves(points, targets, command === "C" ? 3 : 2);
  }
  return points.map(([x, y]) => [at.x + x * at.scaleX, at.y + y * at.scaleY]);
}

function pointsOf(numbers: string): Point[] {
  const values = numbers.trim().split(/\s+/).map(Number);
  return Array.from(
    { length: values.length / 2 },
    (_, i): Point => [values[2 * i] ?? 0, values[2 * i + 1] ?? 0],
  );
}

function appendCurves(points: Point[], targets: readonly Point[], degree: number): void {
  for (let i = 0; i + degree <= targets.length; i += degree) {
    const controls = [points.at(-1) ?? [0, 0], ...targets.slice(i, i + degree)] as Point[];
    for (let step = 1; step <= CURVE_STEPS; step++) points.push(onCurve(controls, step / CURVE_STEPS));
  }
}

/** De Casteljau's construction, for any degree. */
function onCurve(controls: readonly Point[], share: number): Point {
  if (controls.length === 1) return controls[0] as Point;
  const nearer = controls.slice(1).map(([x, y], i): Point => {
    const [fromX, fromY] = controls[i] as Point;
    return [fromX + (x - fromX) * share, fromY + (y - fromY) * share];
  });
  return onCurve(nearer, share);
}
