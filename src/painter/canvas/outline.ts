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
export function ellipse(x: number, y: number, across: number, down: number, turn = 0, corners = 24): Point[] {
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
