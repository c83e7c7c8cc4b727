import type { Random } from "../random.ts";

export type Point = readonly [x: number, y: number];

/** A closed line; the last point leads back to the first. */
export type Contour = readonly Point[];

/** Contours that are painted as one shape, also where they overlap. */
export type Outline = readonly Contour[];

export function rectangle(x: number, y: number, width: number, height: number): Point[] {
  return [
    [x, y],
    [x + width, y],
    [x + width, y + height],
    [x, y + height],
  ];
}

/** An ellipse around (`x`, `y`) of so many corners; `turn` is in radians, clockwise on the screen. */
function ellipse(x: number, y: number, across: number, down: number, turn = 0, corners = 24): Point[] {
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  return Array.from({ length: corners }, (_, i): Point => {
    const u = across * Math.cos((i / corners) * 2 * Math.PI);
    const v = down * Math.sin((i / corners) * 2 * Math.PI);
    return [x + u * cos - v * sin, y + u * sin + v * cos];
  });
}

/** As round as it looks at this size in pixels. */
export function circle(x: number, y: number, radius: number): Point[] {
  return ellipse(x, y, radius, radius, 0, Math.min(96, Math.max(10, Math.ceil(Math.sqrt(radius) * 5))));
}

/** A line with body: `widthAt` gives its width at each share (0 to 1) of its points. */
export function ribbon(points: readonly Point[], widthAt: (share: number) => number): Point[] {
  const left: Point[] = [];
  const right: Point[] = [];
  points.forEach(([x, y], i) => {
    const [fromX, fromY] = points[i - 1] ?? [x, y];
    const [toX, toY] = points[i + 1] ?? [x, y];
    const length = Math.hypot(toX - fromX, toY - fromY) || 1;
    const half = widthAt(i / Math.max(1, points.length - 1)) / 2;
    const across: Point = [((fromY - toY) / length) * half, ((toX - fromX) / length) * half];
    left.push([x + across[0], y + across[1]]);
    right.unshift([x - across[0], y - across[1]]);
  });
  return [...left, ...right];
}

const CURVE_STEPS = 9;

/**
 * Reads shapes in a notation like that of SVG paths; numbers are separated by blanks, and contours close by
 * themselves.
 * - `M`, `L`, `Q`, `C`: as in SVG, absolute.
 * - `R x y width height`: a rectangle.
 * - `O x y across down [degrees]`: an ellipse around a point.
 * - `S from to x y x y …`: a line through points, whose width goes `from` one value `to` another.
 * - `B x y across down count size`: a heap of that many round clumps inside an ellipse.
 */
export function readShapes(notation: string, draw: Random): Outline {
  const contours: Contour[] = [];
  let open: Point[] = [];
  for (const [, command = "", text = ""] of notation.matchAll(/([A-Z])([^A-Z]*)/g)) {
    const numbers = text.trim().split(/\s+/).map(Number);
    if (command === "M") {
      open = pointsOf(numbers);
      contours.push(open);
    } else if (command === "L") open.push(...pointsOf(numbers));
    else if (command === "C" || command === "Q")
      appendCurves(open, pointsOf(numbers), command === "C" ? 3 : 2);
    else contours.push(...simpleShape(command, numbers, draw));
  }
  return contours;
}

function simpleShape(command: string, numbers: readonly number[], draw: Random): Contour[] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = numbers;
  if (command === "R") return [rectangle(a, b, c, d)];
  if (command === "O") {
    const corners = Math.min(72, 10 + Math.round(Math.max(c, d) * 2.5));
    return [ellipse(a, b, c, d, (e * Math.PI) / 180, corners)];
  }
  if (command === "S") return [ribbon(pointsOf(numbers.slice(2)), (share) => a + (b - a) * share)];
  return Array.from({ length: e }, () => {
    const angle = draw.between(0, 2 * Math.PI);
    const away = Math.sqrt(draw.next());
    const radius = f * draw.between(0.7, 1.2);
    const [x, y] = [a + Math.cos(angle) * away * c, b + Math.sin(angle) * away * d];
    return ellipse(x, y, radius * 1.15, radius, 0, 14);
  });
}

function pointsOf(numbers: readonly number[]): Point[] {
  return Array.from({ length: numbers.length >> 1 }, (_, i): Point => {
    return [numbers[2 * i] ?? 0, numbers[2 * i + 1] ?? 0];
  });
}

function appendCurves(points: Point[], targets: readonly Point[], degree: 2 | 3): void {
  for (let i = 0; i + degree <= targets.length; i += degree) {
    const controls = [points.at(-1) ?? [0, 0], ...targets.slice(i, i + degree)] as const;
    for (let step = 1; step <= CURVE_STEPS; step++) points.push(onCurve(controls, step / CURVE_STEPS));
  }
}

/** De Casteljau's construction, for any degree. */
function onCurve(controls: readonly Point[], share: number): Point {
  const [first = [0, 0], ...rest] = controls;
  if (rest.length === 0) return first;
  const nearer = rest.map(([x, y], i): Point => {
    const [fromX, fromY] = controls[i] ?? first;
    return [fromX + (x - fromX) * share, fromY + (y - fromY) * share];
  });
  return onCurve(nearer, share);
}
