export type Point = readonly [x: number, y: number];

/** Closed lines that are painted as one shape, also where they overlap. */
export type Outline = readonly (readonly Point[])[];

export function rectangle(x: number, y: number, width: number, height: number): Point[] {
  return [
    [x, y],
    [x + width, y],
    [x + width, y + height],
    [x, y + height],
  ];
}

/** A polygon that looks round at this size in pixels. */
export function circle(x: number, y: number, radius: number): Point[] {
  return ellipse(x, y, radius, radius, 0, Math.min(96, Math.max(10, Math.ceil(Math.sqrt(radius) * 5))));
}

/** `turn` is in degrees, clockwise on the screen. */
export function ellipse(
  x: number,
  y: number,
  across: number,
  down: number,
  turn: number,
  corners: number,
): Point[] {
  const [cos, sin] = [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)];
  return Array.from({ length: corners }, (_, i): Point => {
    const u = across * Math.cos((i / corners) * 2 * Math.PI);
    const v = down * Math.sin((i / corners) * 2 * Math.PI);
    return [x + u * cos - v * sin, y + u * sin + v * cos];
  });
}

/**
 * Reads shapes in a notation like that of SVG paths; numbers are separated by spaces, and contours close by
 * themselves. `M`, `L` and `C` are as in SVG, absolute; `R x y width height` is a rectangle,
 * `O x y across down [degrees]` an ellipse around a point.
 */
export function readShapes(notation: string): Outline {
  const contours: Point[][] = [];
  for (const [, command, text = ""] of notation.matchAll(/([A-Z])([^A-Z]*)/g)) {
    const numbers = text.trim().split(/\s+/).map(Number);
    const [a = 0, b = 0, c = 0, d = 0, turn = 0] = numbers;
    const points = Array.from({ length: numbers.length >> 1 }, (_, i): Point => {
      return [numbers[2 * i] ?? 0, numbers[2 * i + 1] ?? 0];
    });
    if (command === "M") contours.push(points);
    else if (command === "L") contours.at(-1)?.push(...points);
    else if (command === "C") addCurves(contours.at(-1) ?? [], points);
    else if (command === "R") contours.push(rectangle(a, b, c, d));
    else contours.push(ellipse(a, b, c, d, turn, Math.round(14 + Math.max(c, d) * 0.8)));
  }
  return contours;
}

const CURVE_STEPS = 9;

function addCurves(line: Point[], targets: readonly Point[]): void {
  for (let i = 0; i + 2 < targets.length; i += 3) {
    const [a = [0, 0], b = a, c = b, d = c] = [line.at(-1), ...targets.slice(i, i + 3)];
    for (let step = 1; step <= CURVE_STEPS; step++) {
      const t = step / CURVE_STEPS;
      const at = (from: number, first: number, second: number, to: number) =>
        from * (1 - t) ** 3 + 3 * t * (1 - t) * (first * (1 - t) + second * t) + to * t ** 3;
      line.push([at(a[0], b[0], c[0], d[0]), at(a[1], b[1], c[1], d[1])]);
    }
  }
}
