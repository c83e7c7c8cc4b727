import { mix, type Rgb, tuned } from "../canvas/rgb.ts";
import {
  GRADES,
  type Grade,
  LANDS,
  type Land,
  type LandName,
  LIGHTS,
  type Light,
  type LightName,
  modelStyle,
  type StyleName,
} from "../data/palettes.ts";
import type { SceneryName } from "../data/scenery.ts";
import { type PictureSubject, readSubject } from "../data/subject.ts";
import { SUBJECTS } from "../data/subjects.ts";
import type { PlantName } from "../data/surroundings.ts";
import { type Random, seededRandom } from "../random.ts";
import * as table from "./vocabulary.ts";
import { firstMeaning, meaning, type Words, wordsOf } from "./vocabulary.ts";

/** What a picture is made for. Whatever the prompt leaves open follows from all of it together. */
export interface PictureRequest {
  readonly prompt: string;
  readonly model: string;
  /** Any text that identifies the reference images; empty if there are none. They are not downloaded. */
  readonly references: string;
  readonly taskId: string;
  /** Which of the task's images this is, from 0. */
  readonly index: number;
}

/** What the painter is to paint. */
export interface Brief {
  readonly seed: string;
  readonly light: Light;
  readonly land: Land;
  /** The colours that the prompt names, in order. */
  readonly colors: readonly Rgb[];
  /** The colour that the prompt gives the subject. */
  readonly accent: Rgb | undefined;
  readonly grade: Grade | undefined;
  readonly style: StyleName;
  readonly setting: SceneryName;
  readonly subject: PictureSubject | undefined;
  readonly flower: PlantName | undefined;
  readonly weather: table.Weather | undefined;
  /** The moon is what the picture is about. */
  readonly moonlit: boolean;
  /** Words that say what is to be seen. */
  readonly content: readonly string[];
  /** Words for what is not to be seen, in the singular as well. */
  readonly excluded: ReadonlySet<string>;
}

export function readBrief(spec: PictureRequest): Brief {
  const { prompt, model, references, taskId, index } = spec;
  const words = wordsOf(prompt);
  const { wanted, excluded } = words;
  const seed = [index, prompt, model, taskId, references].join("\n");
  const draw = seededRandom(`brief\n${seed}`);
  const name = firstMeaning(wanted, table.SUBJECT_WORDS);
  const flower = firstMeaning(wanted, table.FLOWER_WORDS);
  const named = name && readSubject(SUBJECTS[name]);
  const [home = "forms", ...homes] = named?.homes ?? (flower ? ["meadow"] : []);
  const setting = settingOf(wanted) ?? draw.pick<SceneryName>([home, ...homes]);
  const usual = setting === "space" && !excluded.has("planet") ? readSubject(SUBJECTS.planet) : undefined;
  const land = firstMeaning(wanted, table.LAND_WORDS) ?? draw.pick(["summer", "summer", "spring", "autumn"]);
  const light = firstMeaning(wanted, table.LIGHT_WORDS) ?? usualLight(setting, land, draw);
  const tune = tuning(model, references, draw);
  return {
    seed,
    // Nothing in space lies in the shadow of the night.
    light: recolored({ ...LIGHTS[light], ...(setting === "space" && { tint: [0.9, 0.9, 0.95] }) }, tune),
    land: recolored({ ...LANDS[land], ...(excluded.has("snow") && { snow: 0 }) }, tune),
    colors: wanted.map((word) => meaning(word, table.COLOR_WORDS)).filter(isColor),
    accent: accentOf(wanted),
    grade: gradeOf(words),
    style: styleOf(wanted) ?? modelStyle(model).style,
    setting,
    subject: named ?? usual,
    flower,
    weather: firstMeaning(wanted, table.WEATHER_WORDS),
    moonlit: wanted.includes("moon"),
    content: wanted.filter((word) => !table.SMALL_WORDS.has(word)),
    excluded,
  };
}

/** A lake in the mountains is both, so it is asked for first. */
function settingOf(wanted: readonly string[]): SceneryName | undefined {
  const setting = firstMeaning(wanted, table.SETTING_WORDS);
  return setting === "mountains" && wanted.includes("lake") ? "lake" : setting;
}

/** "Oil" says more than the "painting" it stands next to, wherever the two are. */
function styleOf(wanted: readonly string[]): StyleName | undefined {
  const telling = wanted.filter((word) => word !== "painting" && word !== "drawing");
  return firstMeaning(telling, table.STYLE_WORDS) ?? firstMeaning(wanted, table.STYLE_WORDS);
}

function gradeOf({ wanted, excluded }: Words): Grade | undefined {
  const name = firstMeaning(wanted, table.GRADE_WORDS);
  const colorless = excluded.has("color") || excluded.has("colour");
  return colorless ? GRADES.noir : name && GRADES[name];
}

/** The colour right before the subject; else the first one that does not belong to its surroundings. */
function accentOf(wanted: readonly string[]): Rgb | undefined {
  let first: Rgb | undefined;
  for (const [i, word] of wanted.entries()) {
    const color = table.SUBJECT_WORDS.has(word) ? undefined : meaning(word, table.COLOR_WORDS);
    const next = wanted.slice(i + 1, i + 3);
    if (color === undefined) continue;
    if (firstMeaning(next, table.SUBJECT_WORDS)) return color;
    if (!firstMeaning(next.slice(0, 1), table.SETTING_WORDS)) first ??= color;
  }
  return first;
}

function usualLight(setting: SceneryName, land: LandName, draw: Random): LightName {
  if (setting === "space") return "night";
  if (setting === "city") return draw.pick(["dusk", "night", "dusk", "dawn"]);
  if (land === "winter") return draw.pick(["day", "day", "dawn", "dusk"]);
  return draw.pick(["day", "dusk", "golden", "dawn", "day"]);
}

type Tune = (color: Rgb) => Rgb;

/** How a model sees colours, as a film does, and what the reference images add to that. */
function tuning(model: string, references: string, draw: Random): Tune {
  const { warmth, vivid } = modelStyle(model);
  const added = seededRandom(`references\n${references}`);
  const turn = draw.between(-0.1, 0.1) + (references === "" ? 0 : added.between(-0.5, 0.5));
  const cast: Rgb = warmth > 0 ? [255, 196, 120] : [96, 150, 235];
  return (color) => mix(tuned(color, turn, vivid), cast, Math.abs(warmth));
}

function isColor(value: unknown): value is Rgb {
  return Array.isArray(value) && typeof value[0] === "number";
}

/** The same with all colours tuned. A tint is no colour, and stays as it is. */
function recolored<T extends Light | Land>(of: T, tune: Tune): T {
  const entries = Object.entries(of).map(([key, value]) => {
    if (key === "tint" || !Array.isArray(value)) return [key, value];
    return [key, isColor(value) ? tune(value) : value.map(tune)];
  });
  return { ...of, ...Object.fromEntries(entries) };
}
