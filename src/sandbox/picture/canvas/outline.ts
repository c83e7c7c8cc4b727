export type Point = readonly [x: number, y: number];

/** A closed line, in pixels of the frame; the last point leads back to the first. */
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

/** An ellipse around (`x`, `y`); `turn` is in radians, clockwise on the screen. */
export function ellipse(x: number, y: number, across: number, down: number, turn = 0): Point[] {
  const corners = Math.min(96, Math.max(10, Math.ceil(Math.sqrt(Math.max(across, down)) * 5)));
  const cos = Math.cos(turn);
  const sin = Math.sin(turn);
  return Array.from({ length: corners }, (_, i): Point => {
    const u = across * Math.cos((i / corners) * 2 * Math.PI);
    const v = down * Math.sin((i / corners) * 2 * Math.PI);
    return [x + u * cos - v * sin, y + u * sin + v * cos];
  });
}

export function circle(x: number, y: number, radius: number): Point[] {
  return ellipse(x, y, radius, radius);
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

/** Points on a quadratic curve from `from` to `to`, drawn towards `control`. */
export function curve(from: Point, control: Point, to: Point, steps = 12): Point[] {
  return Array.from({ length: steps + 1 }, (_, i): Point => {
    const t = i / steps;
    const [a, b, c] = [(1 - t) ** 2, 2 * t * (1 - t), t ** 2];
    return [a * from[0] + b * control[0] + c * to[0], a * from[1] + b * control[1] + c * to[1]];
  });
}
