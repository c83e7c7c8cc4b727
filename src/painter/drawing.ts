import type { Brief } from "./brief.ts";
import { type Colors, hexes, mix, type Point, type Rgb, type Shape } from "./brush.ts";

export function rectangle(x: number, y: number, width: number, height: number): Point[] {
  return [x, x + width, x + width, x].map((each, i): Point => [each, i < 2 ? y : y + height]);
}

function ellipse(x: number, y: number, across: number, down: number): Point[] {
  const corners = Math.round(14 + Math.max(across, down) * 0.8);
  const angles = Array.from({ length: corners }, (_, i) => (i / corners) * 2 * Math.PI);
  return angles.map((angle): Point => [x + across * Math.cos(angle), y + down * Math.sin(angle)]);
}

/**
 * Reads shapes in a notation like that of SVG paths; numbers are separated by spaces, and contours close by
 * themselves. `M`, `L` and `C` are as in SVG, absolute; `R x y width height` is a rectangle,
 * `O x y across down` an ellipse around a point.
 */
export function readShapes(notation: string): Point[][] {
  const contours: Point[][] = [];
  for (const [, command, text = ""] of notation.matchAll(/([A-Z])([^A-Z]*)/g)) {
    const numbers = text.trim().split(/\s+/).map(Number);
    const [a = 0, b = 0, c = 0, d = 0] = numbers;
    const points = numbers.flatMap((x, i): Point[] => (i % 2 === 0 ? [[x, numbers[i + 1] ?? 0]] : []));
    if (command === "M") contours.push(points);
    else if (command === "L") contours.at(-1)?.push(...points);
    else if (command === "C") addCurves(contours.at(-1) ?? [], points);
    else contours.push(command === "R" ? rectangle(a, b, c, d) : ellipse(a, b, c, d));
  }
  return contours;
}

const CURVE_STEPS = 12;

function addCurves(line: Point[], targets: readonly Point[]): void {
  for (let i = 0; i + 2 < targets.length; i += 3) {
    const [a = [0, 0], b = a, c = b, d = c] = [line.at(-1), ...targets.slice(i, i + 3)];
    for (let step = 1; step <= CURVE_STEPS; step++) {
      const t = step / CURVE_STEPS;
      const at = (axis: 0 | 1) =>
        a[axis] * (1 - t) ** 3 + 3 * t * (1 - t) * (b[axis] * (1 - t) + c[axis] * t) + d[axis] * t ** 3;
      line.push([at(0), at(1)]);
    }
  }
}

/** The foot of a drawing in pixels, and the size of its unit: across, negative to look the other way, and down. */
export type Place = readonly [x: number, y: number, across: number, down: number];

export const [BLACK, SNOW, CREAM] = hexes("000000 f4f8ff f6ead8") as [Rgb, Rgb, Rgb];
const INKS = { ink: "26202a", cream: "f6ead8", snow: "f4f8ff", red: "c9382f", lamp: "fff1b8" };

/** A colour of a drawing by its name, as it is in daylight. */
function colorOf(light: Brief["light"], name: string, main: Rgb): Rgb {
  if (name === "main") return main;
  if (name === "window") return mix([86, 103, 122], [255, 210, 122], Math.max(0.1, light.lamps));
  if (name === "sun" || name === "glow" || name === "haze" || name === "cloud") return light[name];
  return hexes(INKS[name as keyof typeof INKS] ?? name)[0];
}

/** `color` as it looks in this light, at a distance of 0 (here) to 1 (lost in haze). */
export function lit({ tint, haze }: Brief["light"], color: Rgb, far = 0): Rgb {
  return mix([color[0] * tint[0], color[1] * tint[1], color[2] * tint[2]], haze, far);
}

const LINE = /^(\w+)([-+]*)(!?)(?:\/(\d+))?(=?)\s+([A-Z].+)$/;

/** The shapes of a drawing (drawings.ts says how to read one) in all of these places, line by line. */
export function drawn(brief: Brief, drawing: string, main: Rgb, places: readonly Place[], far = 0): Shape[] {
  const { lamps, glow } = brief.light;
  return drawing.split("\n").flatMap((line): Shape[] => {
    const [, name = "", shades = "", unlit, percent = "100", twin, notation = ""] = LINE.exec(line) ?? [];
    const opacity = (Number(percent) / 100) * (name === "lamp" ? lamps : 1);
    if (notation === "" || opacity === 0 || (name === "snow" && !brief.isWinter)) return [];
    let color = colorOf(brief.light, name, main);
    for (const sign of shades) color = sign === "-" ? mix(color, BLACK, 0.2) : mix(color, CREAM, 0.4);
    // The subject may be a little brighter than the light allows, and so are windows.
    const own = unlit ? 1 : name === "window" ? lamps * (1 - far) : far === 0 ? 0.25 : 0;
    color = mix(lit(brief.light, color, far), color, own);
    const colors: Colors =
      unlit || name === "window" ? [color] : [mix(color, glow, 0.2), mix(color, BLACK, 0.2)];
    const shapes = readShapes(notation);
    const sides = twin ? [1, -1] : [1];
    const outline = places.flatMap(([x, y, across, down]) =>
      sides.flatMap((side) =>
        shapes.map((line) =>
          line.map(([u, v]): Point => [x + (u - 50) * across * side, y + (v - 100) * down]),
        ),
      ),
    );
    return [{ outline, colors, opacity }];
  });
}
