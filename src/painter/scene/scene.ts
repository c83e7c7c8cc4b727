import { brighter, hex, hexes, mix } from "../canvas/color.ts";
import { fill, type Layer } from "../canvas/fill.ts";
import { rectangle } from "../canvas/outline.ts";
import { SCENERY, SHAPES } from "../data/drawings.ts";
import type { SettingName } from "../data/moods.ts";
import { type Place, paintDrawing, row } from "./drawing.ts";
import { ridge, water } from "./land.ts";
import { sky, weather } from "./sky.ts";
import type { Part, Stage } from "./stage.ts";

/** The same brief gives the same picture at every size of the same ratio, but for what is too small to see. */
export function composeScene(stage: Stage): Layer[] {
  return [...SETTINGS[stage.setting], weather].flatMap((part) => part(stage));
}

/** The subject, if it is carried so, as tall as there is room for; without `at`, it stands on the crest. */
function subject(carried: "standing" | "afloat" | "anyhow", tall: number, at?: number, up = 0): Part {
  return (stage) => {
    const { subject: what, width, height, horizon, unit, side, subjectX: x, random, accent, crest } = stage;
    if (!what || carried === (what.isAfloat ? "standing" : "afloat")) return [];
    const draw = random("figure");
    const y = at === undefined ? crest(x) + unit * 0.02 : horizon + (height - horizon) * at - unit * up;
    const most = Math.min(y * 0.88, height * 0.9, Math.min(x, width - x) * 1.8);
    const size = Math.min(unit * tall * draw.between(0.85, 1.15), most) / 100;
    const place: Place = { x, y, unit: size, facing: draw.chance(0.7) ? side : side === 1 ? -1 : 1 };
    const main = accent ?? draw.pick(hexes(what.colors));
    const mirrored = what.isAfloat ? [{ ...place, unit: -size }] : [];
    return [
      ...paintDrawing(stage, what.drawing, main, mirrored, 0, 0.35),
      ...paintDrawing(stage, what.drawing, main, [place]),
    ];
  };
}

const PALETTES = [
  "264653 2a9d8f e9c46a f4a261 e76f51",
  "1d3557 457b9d a8dadc e63946 f1c453",
  "3d405b 81b29a f2cc8f e07a5f 6d597a",
] as const;

/** Large shapes in balance, in the prompt's colours, where it names no place and nothing we can draw. */
const shapes: Part = (stage) => {
  const { width, height, unit, colors, random } = stage;
  const draw = random("shapes");
  const paper = hex("f5efe2");
  const shades = colors.flatMap((color) => [color, mix(color, paper, 0.5), brighter(color, 0.62)]);
  const palette = colors.length > 0 ? shades : hexes(draw.pick(PALETTES));
  const colorAt = (index: number) => palette[index % palette.length] ?? paper;
  const first = Math.floor(draw.between(0, 40));
  const forms = Array.from({ length: 9 }, (_, i) => {
    const share = (i + 0.5) / 9;
    const size = Math.min(width, height, unit) * (0.66 - 0.48 * share) * draw.between(0.85, 1.15);
    // The golden angle spreads the shapes evenly, however many there are.
    const angle = i * 2.4 + draw.between(-0.4, 0.4);
    const away = 0.1 + 0.32 * Math.sqrt(share);
    const x = width * (0.5 + away * Math.cos(angle));
    const y = height * (0.5 + away * Math.sin(angle)) + size / 2;
    const place: Place = { x, y, unit: size / 100, facing: draw.chance(0.5) ? 1 : -1 };
    return paintDrawing(stage, draw.pick(SHAPES), colorAt(first + i), [place]);
  });
  const sheet = fill([rectangle(-1, -1, width + 2, height + 2)], paper);
  const floor = rectangle(-1, height * draw.between(0.55, 0.78), width + 2, height);
  return [sheet, fill([floor], mix(paper, colorAt(first), 0.5)), ...forms.flat()];
};

const island: Part = (stage) => {
  const { subjectX: x, horizon: y, unit, land, isGrounded } = stage;
  const places: Place[] = isGrounded ? [{ x, y, unit: unit / 100, facing: 1 }] : [];
  return paintDrawing(stage, SCENERY.island, land.rock, places, 0.04);
};

const street = ridge("grass", 0.3, 0.01, 1, 1, 0.1);

const SETTINGS: Readonly<Record<SettingName, readonly Part[]>> = {
  sea: [
    sky,
    ridge("rock", 0.02, 0.09, 0.5, 4, 0.66),
    ridge("rock", 0.02, 0.06, 0.4, 4, 0.45),
    island,
    subject("standing", 0.62, 0, 0.1),
    water,
    subject("afloat", 0.5, 0.28),
  ],
  mountains: [
    sky,
    ridge("peaks", 0.05, 0.24, 0.28, 4, 0.62),
    ridge("peaks", 0.1, 0.42, 0.42, 4, 0.2),
    ridge("wood", 0.02, 0.03, 0.6, 2, 0.25),
    row("pine", 110, 0.06, 0.25),
    subject("standing", 0.42),
    water,
    subject("afloat", 0.42, 0.4),
    ridge("wood", 0.93, 0.05, 0.6, 2, 0),
    row("pine", 26, 0.14, 0.04, 0.2),
  ],
  city: [
    sky,
    row("tower", 17, 0.7, 0.55),
    row("block", 8, 0.48, 0.4),
    row("tower", 9, 0.6, 0.25),
    row("block", 7, 0.36, 0.1),
    (stage) => (stage.isGrounded ? street : water)(stage),
    subject("standing", 0.6, 0.74),
    subject("afloat", 0.4, 0.45),
  ],
  forest: [
    sky,
    ridge("wood", 0.05, 0.02, 0.6, 2, 0.7),
    row("trees", 10, 0.4, 0.7, 0.02),
    ridge("wood", 0.2, 0.02, 0.6, 2, 0.4),
    row("trees", 8, 0.52, 0.4, 0.02),
    ridge("grass", 0.42, 0.03, 0.6, 2, 0.12),
    row("grass", 60, 0.04, 0.1),
    subject("anyhow", 0.46),
    row("grass", 22, 0.11, 0, 1.05),
  ],
  meadow: [
    sky,
    ridge("grass", 0, 0.06, 0.65, 1, 0.5),
    row("trees", 7, 0.11, 0.5),
    ridge("grass", 0.2, 0.05, 0.65, 1, 0.3),
    row("trees", 6, 0.13, 0.3),
    ridge("grass", 0.42, 0.04, 0.65, 1, 0.1),
    row("grass", 60, 0.035, 0.1),
    subject("anyhow", 0.5),
    row("flowers", 22, 0.065, 0.12, 0.22),
    row("flowers", 15, 0.13, 0.06, 0.6),
    row("flowers", 11, 0.2, 0.03, 0.9),
    row("flowers", 9, 0.25, 0, 1.15),
  ],
  shapes: [shapes, subject("anyhow", 0.5, 0.3)],
};
