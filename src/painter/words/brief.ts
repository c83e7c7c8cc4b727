import { hex, type Rgb } from "../canvas/color.ts";
import { SUBJECTS, type Subject } from "../data/drawings.ts";
import {
  LANDS,
  type Land,
  type LandName,
  LIGHTS,
  type Light,
  type LightName,
  type SettingName,
} from "../data/moods.ts";
import { type Random, seededRandom } from "../random.ts";
import * as table from "./vocabulary.ts";
import { find, singular } from "./vocabulary.ts";

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
  /** The colour that the prompt gives what it is about. */
  readonly accent: Rgb | undefined;
  /** How vivid colours are: 0 for none, 1 leaves them as they are. */
  readonly vivid: number;
  readonly style: table.StyleName;
  readonly setting: SettingName;
  readonly subject: Subject | undefined;
  readonly weather: table.WeatherName | undefined;
  /** Words for what is not to be seen, in the singular as well. */
  readonly excluded: ReadonlySet<string>;
}

export function readBrief({ prompt, model, references, taskId, index }: PictureRequest): Brief {
  const { wanted, excluded } = wordsOf(prompt);
  const isColorless = excluded.has("color") || excluded.has("colour");
  const seed = [index, prompt, model, taskId, references].join("\n");
  const draw = seededRandom(`brief\n${seed}`);
  const subject = find(wanted, table.SUBJECT_WORDS);
  const setting = find(wanted, table.SETTING_WORDS) ?? (subject ? SUBJECTS[subject].home : "shapes");
  const land = find(wanted, table.LAND_WORDS) ?? draw.pick(["summer", "summer", "spring", "autumn"]);
  const light = find(wanted, table.LIGHT_WORDS) ?? usualLight(setting, land, draw);
  const colors = wanted.map((word) => find([word], table.COLOR_WORDS));
  return {
    seed,
    light: LIGHTS[light],
    land: { ...LANDS[land], ...(excluded.has("snow") && { snow: 0 }) },
    colors: colors.flatMap((digits) => (digits ? [hex(digits)] : [])),
    accent: accentOf(wanted, colors),
    vivid: isColorless ? 0 : Number(find(wanted, table.VIVID_WORDS) ?? 1),
    style: styleOf(wanted, model),
    setting,
    subject: subject && SUBJECTS[subject],
    weather: find(wanted, table.WEATHER_WORDS),
    excluded,
  };
}

function usualLight(setting: SettingName, land: LandName, draw: Random): LightName {
  if (setting === "city") return draw.pick(["dusk", "night", "dusk", "dawn"]);
  if (land === "winter") return draw.pick(["day", "day", "dawn", "dusk"]);
  return draw.pick(["day", "dusk", "golden", "dawn", "day"]);
}

/** The colour right before the subject; else the first one that does not belong to its surroundings. */
function accentOf(wanted: readonly string[], colors: readonly (string | undefined)[]): Rgb | undefined {
  const places = colors.flatMap((digits, at) => (digits ? [{ digits, next: wanted.slice(at + 1) }] : []));
  const named =
    places.find(({ next }) => find(next.slice(0, 2), table.SUBJECT_WORDS)) ??
    places.find(({ next }) => !find(next.slice(0, 1), table.SETTING_WORDS));
  return named && hex(named.digits);
}

/** "Oil" says more than the "painting" it stands next to; where a prompt names no style, each model has one. */
function styleOf(wanted: readonly string[], model: string): table.StyleName {
  const telling = wanted.filter((word) => word !== "painting" && word !== "drawing");
  const named = find(telling, table.STYLE_WORDS) ?? find(wanted, table.STYLE_WORDS);
  if (named) return named;
  if (model.includes("beta/") || model.includes("z-image")) return "watercolor";
  if (model.includes("beta")) return "oil";
  return model.includes("delta") ? "poster" : "plain";
}

const NEGATOR = /^(no|not|without|never|except|excluding|minus|avoid|nor|neither|don't)$/;
/** What follows one of these is asked for again. */
const TURN = /^(but|with|in|on|at|by|near|under|over|behind|beside|only|just|instead|while|[^\p{L}]+)$/u;

/** "No clouds or people, but a red fox" wants a red fox, and rules out clouds and people. */
export function wordsOf(prompt: string): { wanted: string[]; excluded: Set<string> } {
  const text = prompt
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/\b(black\s*(and|&|n|\/)\s*white|b\s*&\s*w)\b/g, "monochrome")
    .replace(/\b(\p{L}+?)(?:-free|less)\b/gu, ", no $1,");
  const wanted: string[] = [];
  const excluded = new Set<string>();
  let negated = false;
  let last = "";
  for (const [token] of text.matchAll(/\p{L}[\p{L}']*|[.,;:!?()\n]/gu)) {
    if (NEGATOR.test(token)) negated = true;
    else if (TURN.test(token) || (last === "and" && /^(an?|the)$/.test(token))) negated = false;
    else if (negated) excluded.add(token).add(singular(token));
    else wanted.push(token);
    last = token;
  }
  return { wanted, excluded };
}
