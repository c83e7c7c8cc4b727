import type { Layer } from "../canvas/layer.ts";
import { hexes } from "../canvas/rgb.ts";
import { type Part, SCENERIES } from "../data/scenery.ts";
import type { PictureSubject } from "../data/subject.ts";
import { PROPS } from "../data/surroundings.ts";
import type { Brief } from "../words/brief.ts";
import { type Place, paintDrawing, type Tones } from "./drawing.ts";
import { forms } from "./forms.ts";
import { type Crest, crestOf, hillLayers, plantLayers } from "./hill.ts";
import { peaks } from "./peaks.ts";
import { nebula, sky, weather } from "./sky.ts";
import { buildStage, type Stage } from "./stage.ts";
import { towers } from "./towers.ts";
import { mirror, waves } from "./water.ts";

/** A picture that can be painted at this size, row by row from the top. */
interface Scene {
  readonly stage: Stage;
  readonly layers: readonly Layer[];
}

/** The same brief gives the same picture at every size of the same ratio, but for what is too small to see. */
export function composeScene(brief: Brief, width: number, height: number): Scene {
  const stage = buildStage(brief, width, height);
  const on = brief.subject?.on ?? "air";
  const fits = { grounded: on === "ground", "unless grounded": on !== "ground", afloat: on === "water" };
  const all: readonly Part[] = SCENERIES[brief.setting];
  const parts = all.filter((part) =>
    Object.entries(fits).every(([name, fit]) => fit || part.at(-1) !== name),
  );
  const layers: Layer[] = [];
  let crest: Crest = () => stage.horizon;
  for (const [i, part] of parts.entries()) {
    if (part[0] === "hill") crest = crestOf(stage, part, i);
    layers.push(...paintPart(stage, part, i, crest, endOf(stage, parts, i)));
  }
  if (on === "air" && brief.subject) layers.push(...hovering(stage, brief.subject));
  return { stage, layers: [...layers, ...weather(stage)] };
}

/** A hill or the sky need not be painted where the next hill or water covers it. */
function endOf({ horizon, height, unit }: Stage, parts: readonly Part[], index: number): number {
  const isHill = parts[index]?.[0] === "hill";
  const next = parts.slice(index + 1).find(([kind]) => kind === "water" || (isHill && kind === "hill"));
  if (next?.[0] === "water") return horizon + 1;
  if (next?.[0] !== "hill") return height;
  const [, at, rise] = next;
  return Math.min(height, horizon + (height - horizon) * at + unit * rise * 1.2);
}

function paintPart(stage: Stage, part: Part, index: number, crest: Crest, end: number): Layer[] {
  const { height, width, horizon, unit, subject, setting, side, subjectX } = stage;
  const yOf = (at: number) => horizon + (height - horizon) * at;
  switch (part[0]) {
    case "sky":
      return sky(stage, end);
    case "nebula":
      return nebula(stage);
    case "peaks":
      return peaks(stage, part[1], part[2]);
    case "towers":
      return towers(stage, part[1], part[2], subject?.on === "ground" ? height : horizon);
    case "hill":
      return hillLayers(stage, part, crest, end);
    case "plants":
      return plantLayers(stage, part, crest, index);
    case "water":
      return mirror(stage);
    case "waves":
      return [waves(stage)];
    case "forms":
      return forms(stage);
    case "prop": {
      const x = part[1] === "island" ? subjectX : width / 2;
      const place: Place = { x, y: yOf(part[2]), unit: unit / 100, facing: side };
      return paintDrawing(stage, PROPS[part[1]], {}, [place], 0.04);
    }
    case "subject": {
      const [, on, tall, at, up = 0] = part;
      if (subject?.on !== on) return [];
      const isCentral = setting === "studio" || setting === "table";
      const x = isCentral ? width / 2 : subjectX;
      const ground = at === undefined ? crest(x) + unit * 0.02 : yOf(at) - unit * up;
      return figure({ ...stage, ...(isCentral && { nearness: 1 }) }, subject, x, ground, unit * tall);
    }
  }
}

/** The subject, as large as there is room for; what floats has its reflection below. */
function figure(stage: Stage, subject: PictureSubject, x: number, y: number, size: number): Layer[] {
  const { width, height, nearness, side, random, setting } = stage;
  const draw = random("figure");
  const tall = Math.min(size * nearness, y * 0.88, height * 0.9);
  const unit = Math.min(tall / 100, (Math.min(x, width - x) * 1.04) / subject.half);
  const place: Place = { x, y, unit, facing: draw.chance(0.7) ? side : side === 1 ? -1 : 1 };
  const tones = tonesOf(stage, subject, "");
  const upright = paintDrawing(stage, subject.drawing, tones, [place]);
  if (subject.on !== "water" || setting === "space") return upright;
  return [...paintDrawing(stage, subject.drawing, tones, [{ ...place, flipped: true }], 0, 0.4), ...upright];
}

function tonesOf({ random, land, accent }: Stage, { colors }: PictureSubject, name: string): Tones {
  const draw = random(`tones ${name}`);
  const entries = colors.map(([tone, ...choice], i) => {
    const color = draw.pick(choice.length === 0 ? land.foliage : hexes(choice.join(" ")));
    return [tone, i === 0 ? (accent ?? color) : color] as const;
  });
  return Object.fromEntries(entries);
}

/** A subject in the air, where it has a flock with small ones far behind it. */
function hovering(stage: Stage, subject: PictureSubject): Layer[] {
  const { width, horizon, height, unit, subjectX, nearness, random, setting } = stage;
  const draw = random("flock");
  const flock = (subject.hasFlock ? ["1", "2", "3"] : []).flatMap((name) => {
    const [x, y] = [width * draw.between(0.06, 0.94), horizon * draw.between(0.25, 0.85)];
    const place: Place = { x, y, unit: (unit * draw.between(0.06, 0.13)) / 100, facing: 1 };
    return paintDrawing(stage, subject.drawing, tonesOf(stage, subject, name), [place], 0.42);
  });
  const y = setting === "space" ? height * (0.6 + 0.14 * nearness) : horizon * (0.55 + 0.3 * nearness);
  return [...flock, ...figure(stage, subject, subjectX, y, Math.min(unit * 0.5, y * 0.85))];
}
