import type { Layer } from "../canvas/layer.ts";
import { hexes } from "../canvas/rgb.ts";
import { PROPS } from "../data/props.ts";
import { type Part, SETTINGS } from "../data/settings.ts";
import type { Subject } from "../data/subject.ts";
import type { Brief } from "../words/brief.ts";
import { type Place, paintDrawing, type Tones } from "./drawing.ts";
import { forms } from "./forms.ts";
import { type Crest, crestOf, hillLayers, plantLayers } from "./ground.ts";
import { peaks } from "./peaks.ts";
import { nebula, sky } from "./sky.ts";
import { buildStage, type Stage } from "./stage.ts";
import { towers } from "./towers.ts";
import { mirror, waves } from "./water.ts";
import { weather } from "./weather.ts";

/** A picture that can be painted at this size, row by row from the top. */
interface Scene {
  readonly stage: Stage;
  readonly layers: readonly Layer[];
}

/** The same brief gives the same picture at every size of the same ratio, but for what is too small to see. */
export function composeScene(brief: Brief, width: number, height: number): Scene {
  const stage = buildStage(brief, width, height);
  const on = brief.subject?.on ?? "air";
  const all: readonly Part[] = SETTINGS[brief.setting];
  const parts = all.filter(({ only = on }) => only === on || (only === "other" && on !== "ground"));
  const layers: Layer[] = [];
  let crest: Crest = () => stage.horizon;
  for (const [i, part] of parts.entries()) {
    if (part.kind === "hill") crest = crestOf(stage, part, i);
    layers.push(...paintPart(stage, part, i, crest, endOf(stage, parts, i)));
  }
  if (on === "air" && brief.subject) layers.push(...hovering(stage, brief.subject));
  return { stage, layers: [...layers, ...weather(stage)] };
}

/** A hill or the sky need not be painted where the next hill or water covers it. */
function endOf({ horizon, height, unit }: Stage, parts: readonly Part[], index: number): number {
  const rest = parts.slice(index + 1);
  const next = rest.find(
    ({ kind }) => kind === "water" || (parts[index]?.kind === "hill" && kind === "hill"),
  );
  if (next?.kind === "water") return horizon + 1;
  if (next?.kind !== "hill") return height;
  return Math.min(height, horizon + (height - horizon) * next.at + unit * next.rise * 1.2);
}

function paintPart(stage: Stage, part: Part, index: number, crest: Crest, end: number): Layer[] {
  const { height, width, horizon, unit, subjectX, subject } = stage;
  switch (part.kind) {
    case "sky":
      return sky(stage, end);
    case "nebula":
      return nebula(stage);
    case "peaks":
      return peaks(stage, part.tall, part.far);
    case "towers":
      return towers(stage, part.tall, part.far, subject?.on === "ground" ? height : horizon);
    case "hill":
      return hillLayers(stage, part, crest, end, index);
    case "plants":
      return plantLayers(stage, part, crest, index);
    case "water":
      return mirror(stage);
    case "waves":
      return [waves(stage)];
    case "forms":
      return forms(stage);
    case "prop": {
      const x = part.x === "subject" ? subjectX : width / 2;
      const y = horizon + (height - horizon) * part.at;
      return paintDrawing(
        stage,
        PROPS[part.prop],
        {},
        [{ x, y, unit: unit / 100, facing: stage.side }],
        0.04,
      );
    }
    case "subject": {
      if (subject?.on !== part.on) return [];
      const isCentral = stage.setting === "studio" || stage.setting === "table";
      const x = isCentral ? width / 2 : subjectX;
      const ground = part.at === undefined ? crest(x) + unit * 0.02 : horizon + (height - horizon) * part.at;
      return figure(stage, subject, x, ground - unit * (part.up ?? 0), unit * part.tall, isCentral);
    }
  }
}

/** The subject, as large as there is room for; what floats has its reflection below. */
function figure(
  stage: Stage,
  subject: Subject,
  x: number,
  y: number,
  size: number,
  isCentral = false,
): Layer[] {
  const { width, height, nearness, side, random } = stage;
  const draw = random("figure");
  const tall = Math.min(isCentral ? size : size * nearness, y * 0.88, height * 0.9);
  const unit = Math.min(tall / 100, (Math.min(x, width - x) * 1.04) / subject.half);
  const place: Place = { x, y, unit, facing: draw.chance(0.7) ? side : side === 1 ? -1 : 1 };
  const drawing = `${subject.variants ? draw.pick(subject.variants) : ""}\n${subject.drawing}`;
  const tones = tonesOf(stage, subject, stage.accent);
  const upright = paintDrawing(stage, drawing, tones, [place]);
  if (subject.on !== "water" || stage.setting === "space") return upright;
  return [...paintDrawing(stage, drawing, tones, [{ ...place, flipped: true }], 0, 0.4), ...upright];
}

function tonesOf(
  { random, land, index }: Stage & { index?: number },
  { colors }: Subject,
  accent: Stage["accent"],
): Tones {
  const draw = random(`tones ${index ?? ""}`);
  const entries = colors.map(([name, ...choice], i) => {
    const color = draw.pick(choice.length === 0 ? land.foliage : hexes(choice.join(" ")));
    return [name, i === 0 ? (accent ?? color) : color] as const;
  });
  return Object.fromEntries(entries);
}

/** A subject in the air, with small ones far behind it. */
function hovering(stage: Stage, subject: Subject): Layer[] {
  const { width, horizon, height, unit, subjectX, nearness, random, setting } = stage;
  const draw = random("flock");
  const flock = Array.from({ length: subject.flock ?? 0 }, (_, index): Layer[] => {
    const [x, y] = [width * draw.between(0.06, 0.94), horizon * draw.between(0.25, 0.85)];
    const place: Place = { x, y, unit: (unit * draw.between(0.06, 0.13)) / 100, facing: 1 };
    return paintDrawing(
      stage,
      subject.drawing,
      tonesOf({ ...stage, index }, subject, stage.accent),
      [place],
      0.42,
    );
  });
  const y = setting === "space" ? height * (0.6 + 0.14 * nearness) : horizon * (0.55 + 0.3 * nearness);
  return [...flock.flat(), ...figure(stage, subject, subjectX, y, Math.min(unit * 0.5, y * 0.85))];
}
