import type { Brief } from "./brief.ts";
import { type Colors, mix, type Point, parseColors, type Rgb, type Shape } from "./brush.ts";
import { COLORS } from "./moods.ts";

export function rectangle(x: number, y: number, width: number, height: number): Point[] {
  return [x, x + width, x + width, x].map((each, i): Point => [each, i < 2 ? y : y + height]);
}

function ellipse(x: number, y: number, across: number, down: number): Point[] {
  const corners = Math.round(14 + Math.max(across, down) * 0.8);
  const angles = Array.from({ length: corners }, (_, i) => (i / corners) * 2 * Math.PI);
  return angles.map((angle): Point => [x + across * Math.cos(angle), y + down * Math.sin(angle)]);
}

/** Parses closed SVG paths of absolute `M`, `L`, `C`, plus `R x y width height` and ellipses `O x y radius radius`. */
export function parseShapes(notation: string): Point[][] {
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

function addCurves(line: Point[], targets: readonly Point[]): void {
  for (let i = 0; i + 2 < targets.length; i += 3) {
    const [a = [0, 0], b = a, c = b, d = c] = [line.at(-1), ...targets.slice(i, i + 3)];
    for (let step = 1; step <= 12; step++) {
      const t = step / 12;
      const at = (axis: 0 | 1) =>
        a[axis] * (1 - t) ** 3 + 3 * t * (1 - t) * (b[axis] * (1 - t) + c[axis] * t) + d[axis] * t ** 3;
      line.push([at(0), at(1)]);
    }
  }
}

/** Position of a drawing's foot, and pixels per unit across and down. A negative value mirrors the drawing. */
export type Foot = readonly [x: number, y: number, across: number, down: number];

export const [BLACK, SNOW, CREAM] = parseColors("000000 f4f8ff f6ead8") as [Rgb, Rgb, Rgb];
const INKS = { ink: "26202a", cream: "f6ead8", snow: "f4f8ff", red: "c9382f", lamp: "fff1b8" };

function resolveColor(light: Brief["light"], name: string, main: Rgb): Rgb {
  if (name === "main") return main;
  if (name === "window") return mix([86, 103, 122], [255, 210, 122], Math.max(0.1, light.lamps));
  if (name === "sun" || name === "glow" || name === "haze" || name === "cloud") return light[name];
  return parseColors(INKS[name as keyof typeof INKS] ?? name)[0];
}

/** Applies light and haze to a colour. @param depth from 0 (near) to 1 (hidden by haze) */
export function applyLight({ tint, haze }: Brief["light"], color: Rgb, depth = 0): Rgb {
  return mix([color[0] * tint[0], color[1] * tint[1], color[2] * tint[2]], haze, depth);
}

const LINE = /^(\w+)([-+]*)(!?)(?:\/(\d+))?(=?)\s+([A-Z].+)$/;

/** Converts a drawing in the notation of `drawings.ts` to shapes at all positions in `feet`. */
export function toShapes(
  brief: Brief,
  drawing: string,
  main: Rgb,
  feet: readonly Foot[],
  depth = 0,
): Shape[] {
  const { lamps, glow } = brief.light;
  return drawing.split("\n").flatMap((line): Shape[] => {
    const [, name = "", shades = "", unlit, percent = "100", mirrorSign, notation = ""] =
      LINE.exec(line) ?? [];
    const opacity = (Number(percent) / 100) * (name === "lamp" ? lamps : 1);
    if (notation === "" || opacity === 0 || (name === "snow" && !brief.isWinter)) return [];
    let color = resolveColor(brief.light, name, main);
    for (const sign of shades) color = sign === "-" ? mix(color, BLACK, 0.2) : mix(color, CREAM, 0.4);
    // Makes the subject and windows brighter than their surroundings.
    const brightness = unlit ? 1 : name === "window" ? lamps * (1 - depth) : depth === 0 ? 0.25 : 0;
    color = mix(applyLight(brief.light, color, depth), color, brightness);
    const colors: Colors =
      unlit || name === "window" ? [color] : [mix(color, glow, 0.2), mix(color, BLACK, 0.2)];
    const shapes = parseShapes(notation);
    const sides = mirrorSign ? [1, -1] : [1];
    const outline = feet.flatMap(([x, y, across, down]) =>
      sides.flatMap((side) =>
        shapes.map((line) =>
          line.map(([u, v]): Point => [x + (u - 50) * across * side, y + (v - 100) * down]),
        ),
      ),
    );
    return [{ outline, colors, opacity }];
  });
}

export function drawCard(brief: Brief): Shape[] {
  const { width, height, prompt, model, index, colors, random } = brief;
  const color = colors[0] ?? parseColors(random("card").pick(["d23b2f", ...Object.keys(COLORS)]))[0];
  const ink = color[0] + color[1] + color[2] > 400 ? mix(color, BLACK, 0.8) : CREAM;
  const margin = 0.06 * Math.min(width, height);
  const [left, innerWidth] = [2 * margin, width - 4 * margin];
  const [dot, lines] = fitText(prompt, innerWidth, height * 0.45);
  const caption = `${model}  ${width}x${height}  #${index + 1}  imggen sandbox`;
  const captionDot = Math.min(innerWidth / 6 / caption.length, margin / 18);
  const textHeight = LEADING * (lines.length * dot + 1.6 * captionDot);
  const top = height - 1.6 * margin - textHeight;
  const captionTop = top + textHeight - LEADING * captionDot;
  const box = [rectangle(margin, top - margin, width - 2 * margin, height - top)];
  const text = lines.flatMap((line, i) => drawText(line, left, top + i * LEADING * dot, dot));
  return [
    { outline: box, colors: [color], opacity: 0.94 },
    { outline: text, colors: [ink], opacity: 1 },
    { outline: drawText(caption, left, captionTop, captionDot), colors: [ink], opacity: 0.75 },
  ];
}

/** Wraps a prompt to fit a box. @returns the size of a dot in pixels, and no lines if the font lacks a letter */
function fitText(prompt: string, width: number, height: number): [dot: number, lines: string[]] {
  const ascii = prompt.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[‘’]/g, "'").replace(/[“”]/g, '"');
  if (/[^\P{L}a-z]/iu.test(ascii)) return [0, []];
  const text = ascii.replace(/\p{Pd}/gu, "-").replace(/[^!-~]+/g, " ");
  for (let columns = 12; ; columns += 6) {
    const lines = text.match(new RegExp(`\\S.{0,${columns - 1}}(?= |$)|\\S{${columns}}`, "g")) ?? [];
    const dot = width / columns / 6;
    const maxLines = Math.max(1, Math.floor(height / LEADING / dot));
    if (lines.length <= maxLines || columns > 60) return [dot, lines.slice(0, maxLines)];
  }
}

const LEADING = 10;

function drawText(text: string, left: number, top: number, dot: number): Point[][] {
  const at = (column: number) => FONT[(text.charCodeAt(Math.floor(column / 6)) - 32) * 5 + (column % 6)] ?? 0;
  const isDot = (column: number, row: number) => column % 6 < 5 && ((at(column) >> row) & 1) === 1;
  return Array.from({ length: text.length * 6 * 8 }, (_, i): [number, number] => [i >> 3, i & 7])
    .filter(([column, row]) => isDot(column, row))
    .map(([column, row]) => rectangle(left + column * dot, top + row * dot, dot, dot));
}

/** Printable ASCII characters, each as five columns of eight dots. */
const FONT = Buffer.from(
  `AAAAAAAAAF8AAAADAAMAFH8UfxQkKn8qEiMTCGRiNklWIFAAAAMAAAAcIkEAAEEiHAAIKhwqCAgIPggIAIBgAAAICAgICAAAQAAAYBAIBAM
+UUlFPgBCf0AAYlFJSUYiQUlJNhgUEn8QJ0VFRTk+SUlJMAFxCQUDNklJSTYGSUlJPgAAIgAAAIBiAAAACBQiQRQUFBQUQSIUCAACAVkJBj
5BXVUefgkJCX5/SUlJNj5BQUEif0FBQT5/SUlJQX8JCQkBPkFJSTp/CAgIfwBBf0EAIEBBPwF/CBQiQX9AQEBAfwIMAn9/AgQIfz5BQUE+f
wkJCQY+QVEhXn8JGSlGRklJSTEBAX8BAT9AQEA/HyBAIB9/IBggf2MUCBRjAwR4BANhUUlFQwB/QUEAAwQIEGAAQUF/AAQCAQIEQEBAQEAA
AQIAACBUVFR4f0RERDg4REREIDhERER/OFRUVBgIfgkBAhikpKR8fwQEBHgARH1AAECAhH0AfxAoRAAAQX9AAHwEOAR4fAQEBHg4REREOPw
kJCQYGCQkJPx8CAQECEhUVFQkBD9EQCA8QEBAfBwgQCAcPEAwQDxEKBAoRBygoKB8RGRUTEQACDZBQQAAfwAAQUE2CAAIBAgQCA==`,
  "base64",
);
