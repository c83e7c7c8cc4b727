import { type Brief, gradeColor } from "./brief.ts";
import { type Colors, mix, type Point, type Rgb, type Shape } from "./brush.ts";
import { applyLight, BLACK, drawCard, type Foot, rectangle, SNOW, toShapes } from "./drawing.ts";
import { SCENERY } from "./drawings.ts";
import { SETTINGS, WEATHERS } from "./moods.ts";

/** State that the parts of a scene share, in pixels. `crest` is the upper edge of the last hill or water. */
interface Stage extends Brief {
  readonly horizon: number;
  /** 1 if the sun is on the right, -1 if on the left. The subject is on the opposite side. */
  readonly side: 1 | -1;
  readonly sunX: number;
  readonly figureX: number;
  readonly shapes: Shape[];
  crest(x: number): number;
}

/** Composes a picture. Pictures with equal ratios but different sizes look equal, except for tiny details. */
export function composePicture(brief: Brief): Shape[] {
  const { width, height, weather, setting, palette } = brief;
  const random = brief.random("stage");
  const [side, horizon] = [random.pick([1, -1] as const), height * random.between(0.56, 0.7)];
  const sunX = width * (0.5 + side * random.between(0.14, 0.32));
  const figureX = width * (0.5 - side * random.between(0.06, 0.2));
  const stage: Stage = { ...brief, horizon, side, sunX, figureX, shapes: [], crest: () => horizon };
  const [, scene = ""] = SETTINGS[setting].split("|");
  const [, precipitation = ""] = weather ? WEATHERS[weather].split("|") : [];
  stage.shapes.push(...drawSky(stage));
  for (const part of `${scene},${precipitation}`.split(",")) {
    const [name = "", ...numbers] = part.trim().split(" ");
    stage.shapes.push(...paintPart(stage, name, numbers.map(Number)));
  }
  if (brief.isCard) stage.shapes.push(...drawCard(brief));
  const grade = (colors: Colors) => colors.map((color) => gradeColor(color, palette)) as [Rgb, ...Rgb[]];
  return stage.shapes.map((shape) => ({ ...shape, colors: grade(shape.colors) }));
}

function paintPart(stage: Stage, name: string, numbers: number[]): Shape[] {
  if (name === "water") return drawWater(stage);
  if (name === "rock" || name === "wood" || name === "land") return drawHill(stage, name, numbers);
  if (name in SCENERY) return drawRow(stage, name as keyof typeof SCENERY, numbers);
  const subjectPart = stage.subject?.isAfloat ? "floating" : "standing";
  return name === "figure" || name === subjectPart ? drawSubject(stage, numbers) : [];
}

function drawRow(stage: Stage, kind: keyof typeof SCENERY, numbers: number[]): Shape[] {
  const [density = 0, relativeHeight = 0, distance = 0, from = 0, to = 0] = numbers;
  const { width, height, unit, subject, figureX, side, land, light, colors, excluded } = stage;
  const drawing = SCENERY[kind === "tree" && stage.isWinter ? "pine" : kind];
  const [words = "", palette = ""] = drawing.slice(0, drawing.indexOf("\n")).split("|");
  if (words.split(" ").some((word) => excluded.has(word))) return [];
  const random = stage.random(`${kind} ${relativeHeight} ${distance}`);
  const isSky = palette === "sky";
  const defaultColors = isSky ? light.sky : land[palette as "rock" | "foliage" | "blossom" | "concrete"];
  const mainColors = palette === "blossom" && !subject && colors.length > 0 ? colors : defaultColors;
  const groups = mainColors.map((main) => ({ main, feet: [] as Foot[] }));
  const count = Math.min(400, Math.ceil((width / unit) * density));
  for (let i = 0; i < count; i++) {
    const x = width * ((i + random.between(-0.2, 1.2)) / count);
    const top = isSky ? 0 : stage.crest(x);
    const y = top + (height - top) * random.between(from, to);
    const size = (Math.min(unit * relativeHeight, height * 0.5) / 100) * random.between(0.6, 1.15);
    const hidesSubject = kind === "pine" && distance > 0.1 && subject && Math.abs(x - figureX) < unit * 0.24;
    const group = groups[Math.floor(random.between(0, groups.length))];
    if (!hidesSubject) group?.feet.push([x, y, size * side, size]);
  }
  return groups.flatMap(({ main, feet }) => toShapes(stage, drawing, main, feet, distance + 0.001));
}

function drawSky(stage: Stage): Shape[] {
  const { width, horizon, unit, light, sunX, excluded, random } = stage;
  const altitude = Math.min(0.8, light.altitude * random("sun").between(0.8, 1.15));
  const sun: Foot = [sunX, horizon * (1 - altitude) + unit * 0.05, unit / 900, unit / 900];
  const isSunExcluded = excluded.has(light.stars === 1 ? "moon" : "sun");
  return [
    { outline: [rectangle(0, 0, width, horizon + unit * 0.12)], colors: light.sky, opacity: 1 },
    ...drawRow(stage, "star", [170 * light.stars, 0.004, 0, 0, 0.55]),
    ...toShapes(stage, SCENERY.sun, light.sun, isSunExcluded ? [] : [sun]),
    ...drawRow(stage, "cloud", [3, 0.08, 0, 0.1, 0.45]),
  ];
}

type Soil = "rock" | "wood" | "land";

function drawHill(stage: Stage, soil: Soil, [at = 0, rise = 0, distance = 0]: number[]): Shape[] {
  const { width, height, horizon, unit, light, land } = stage;
  const random = stage.random(`${soil} ${at} ${distance}`);
  const [shift, wide] = [random.between(0, 6), unit * random.between(0.13, 0.2)];
  const wave = (x: number) =>
    0.5 + 0.35 * Math.sin(x / wide + shift) + 0.15 * Math.sin((2.7 * x) / wide - shift);
  stage.crest = (x) => horizon + (height - horizon) * at - unit * rise * wave(x);
  const columns = Array.from({ length: 161 }, (_, i) => (width * i) / 160);
  const crest = columns.map((x): Point => [x, stage.crest(x)]);
  const soils = { rock: land.rock[0], wood: mix(land.foliage[0], BLACK, 0.4), land: land.ground };
  const color = applyLight(light, stage.isWinter ? mix(soils[soil], SNOW, 0.8) : soils[soil], distance);
  const colors: Colors = [mix(color, light.glow, 0.15), mix(color, BLACK, 0.3 - 0.3 * distance)];
  return [{ outline: [[[0, height], ...crest, [width, height]]], colors, opacity: 1 }];
}

function drawWater(stage: Stage): Shape[] {
  const { width, height, horizon, unit, light, land, sunX } = stage;
  const line = horizon + unit * 0.012;
  stage.crest = () => line;
  const mirror = ([x, y]: Point): Point => [x, Math.max(line, 2 * line - y)];
  const mirrored = stage.shapes.map((shape): Shape => {
    const reversed = [...shape.colors].reverse() as [Rgb, ...Rgb[]];
    return { ...shape, outline: shape.outline.map((contour) => contour.map(mirror)), colors: reversed };
  });
  const color = applyLight(light, land.water);
  const colors: Colors = [mix(color, light.haze, 0.3), mix(color, BLACK, 0.2)];
  return [
    ...mirrored,
    { outline: [rectangle(0, line, width, height - line)], colors, opacity: 0.62 },
    ...toShapes(stage, SCENERY.shine, color, [[sunX, height, unit / 130, (height - line) / 100]]),
  ];
}

/** Draws the subject, which is made smaller if it does not fit. A subject that is afloat gets a reflection. */
function drawSubject(stage: Stage, [relativeHeight = 0, position = 0]: number[]): Shape[] {
  const { subject, width, height, unit, side, figureX: x } = stage;
  if (!subject) return [];
  const random = stage.random("figure");
  const y = stage.crest(x) + (height - stage.crest(x)) * position;
  const maxHeight = Math.min(y * 0.88, height * 0.9, Math.min(x, width - x) * 1.8);
  const size = Math.min(unit * relativeHeight * random.between(0.85, 1.15), maxHeight) / 100;
  const signedSize = size * random.pick([side, side, 1, -1]);
  const upright = toShapes(stage, subject.drawing, subject.main, [[x, y, signedSize, size]]);
  if (!subject.isAfloat) return upright;
  const below = toShapes(stage, subject.drawing, subject.main, [[x, y, signedSize, -size]]);
  return [...below.map((shape) => ({ ...shape, opacity: shape.opacity * 0.35 })), ...upright];
}
