import { createHash } from "node:crypto";
import { hexes, mix, type Rgb } from "./brush.ts";
import { SUBJECTS } from "./drawings.ts";
import * as moods from "./moods.ts";

/** Input of a picture. A hash of all fields decides what the prompt leaves open. */
export interface PictureSpec {
  readonly prompt: string;
  readonly model: string;
  /** Any text that identifies the reference images. */
  readonly references: string;
  readonly taskId: string;
  /** Index of the image in its task. */
  readonly index: number;
  /** In pixels, at least 1. */
  readonly width: number;
  readonly height: number;
}

/** Instructions for the painter. */
export type Brief = ReturnType<typeof readBrief>;

export function readBrief(spec: PictureSpec) {
  const { prompt, width, height } = spec;
  const seed = [spec.index, prompt, spec.model, spec.taskId, spec.references].join("\n");
  const { words, excluded } = parsePrompt(prompt);
  const draw = seededRandom(`brief\n${seed}`);
  const name = find(words, SUBJECTS);
  const [, home, usual = ""] = (name ? SUBJECTS[name] : "").split("\n", 1)[0]?.split("|") ?? [];
  const setting = find(words, moods.SETTINGS) ?? (home as keyof typeof moods.SETTINGS | undefined);
  const [land, light] = [find(words, moods.LANDS), find(words, moods.LIGHTS)];
  const colorNames = words.map((word) => find([word], moods.COLORS) ?? "");
  // In "a blue sea and a red boat", the boat has the colour right before it.
  const hue = colorNames.find((color, at) => color && find(words.slice(at + 1, at + 3), SUBJECTS)) ?? usual;
  const isGrey =
    words.some((word) => COLORLESS.test(word)) || excluded.has("color") || excluded.has("colour");
  return {
    ...spec,
    setting: setting ?? draw.pick(["mountains", "sea", "meadow"] as const),
    isCard: unknownSubject(prompt) !== null || !(setting || land || light),
    subject: name && { drawing: SUBJECTS[name], main: draw.pick(hexes(hue)), isAfloat: home === "sea" },
    light: moods.readLight(moods.LIGHTS[light ?? draw.pick(["day", "dusk", "golden", "dawn"] as const)]),
    land: moods.readLand(moods.LANDS[land ?? draw.pick(["summer", "spring", "autumn"] as const)]),
    isWinter: land === "winter" && !excluded.has("snow"),
    weather: find(words, moods.WEATHERS),
    /** The prompt's colours, in order. */
    colors: colorNames.flatMap((color) => (color ? hexes(color) : [])),
    /** Words for things to leave out, in the singular as well. */
    excluded,
    palette: isGrey ? "1 1 1 0" : seededRandom(spec.model).pick(moods.PALETTES),
    /** Base length for a frame of any ratio. */
    unit: Math.min(Math.sqrt(width * height), 1.6 * Math.min(width, height)),
    /** A separate random stream for each purpose, so that a change of one part does not move another. */
    random: (purpose: string) => seededRandom(`${purpose}\n${seed}`),
  };
}

/** Deterministic random numbers, equal on every machine. */
function seededRandom(seed: string) {
  // UTF-16, so that lone surrogates count as well.
  let state = createHash("sha256").update(seed, "utf16le").digest().readInt32LE();
  /** At least 0 and below 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    const once = Math.imul(state ^ (state >>> 15), state | 1);
    const twice = once ^ (once + Math.imul(once ^ (once >>> 7), once | 61));
    return ((twice ^ (twice >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  return {
    between: (low: number, high: number) => low + (high - low) * next(),
    pick: <T>(items: readonly [T, ...T[]]): T => items[Math.floor(next() * items.length)] ?? items[0],
  };
}

/** A colour in a palette: the share of red, green and blue, and how vivid it is. */
export function gradeColor(color: Rgb, palette: string): Rgb {
  const [red = 1, green = 1, blue = 1, vividness = 1] = palette.split(" ").map(Number);
  const grey = 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2];
  const [r, g, b] = mix([grey, grey, grey], color, vividness);
  const bounded = (value: number) => Math.min(255, Math.max(0, value));
  return [bounded(r * red), bounded(g * green), bounded(b * blue)];
}

const singular = (word: string) =>
  word.replace(/(?<=x|sh|ch)es$|(?<=[^s])s$/, "").replace(/(?<=lea|wol)ve$/, "f");

/** The key of the row with the earliest known word. The words of a row come before its first `|`. */
function find<T extends string>(words: readonly string[], table: Readonly<Record<T, string>>): T | undefined {
  for (const word of words)
    for (const key in table) {
      const row = table[key].split("|", 1)[0]?.split(" ");
      if (row?.includes(word) || row?.includes(singular(word))) return key;
    }
  return undefined;
}

const COLORLESS = /^(noir|monochrome|gr[ae]yscale|bw)$/;
const split = (text: string) => text.match(/\p{L}[\p{L}'-]*/gu) ?? [];
const NEGATED =
  /(?<!\p{L})(?:no|not|without|never|don't)(?!\p{L}).*?(?=[^\p{L}'-]+(?:but|with|in|on|at|by|and (?:an?|the)) |[.,;:!?()\n]|$)/gsu;

/** Splits "No clouds or people, but a red fox" into the words of the picture, "red fox", and excluded ones. */
export function parsePrompt(prompt: string): { text: string; words: string[]; excluded: Set<string> } {
  const spelled = prompt
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/\b(black\s*(and|&|n|\/)\s*white|b\s*&\s*w)\b/g, "monochrome")
    .replace(/(?<!\p{L})(\p{L}+?)(?:-free|less)(?!\p{L})/gu, ", no $1,");
  const excluded = split((spelled.match(NEGATED) ?? []).join(" ")).flatMap((word) => [word, singular(word)]);
  const text = spelled.replace(NEGATED, ",");
  return { text, words: split(text), excluded: new Set(excluded) };
}

/** The main noun stands before the first of these, or after "of". */
const NOUN_END =
  /(?<!\p{L})(of|in|on|at|by|near|under|over|behind|beside|with|from|into|through|across|to|for|like|as|is|are|and|or|but)(?!\p{L})|[.,;:!?()\n]/u;
/** Words that are no subject: articles, styles, media, adverbs. */
const IGNORED_WORD =
  /^(an?|the|its?|that|this|very|some|style|art|photo(graph)?|picture|image|painting|drawing|illustration|oil|acrylic|watercolou?r|gouache|pixel|sketch|pencil|ink|charcoal|poster|flat|vector|minimal(ist)?|vivid|pastel|.+(ing|ed|ly))$/;

/** The main noun of a prompt, if the painter does not know it: the last word before any "in" or "with". */
export function unknownSubject(prompt: string): string | null {
  const parts = parsePrompt(prompt).text.split(NOUN_END);
  for (let at = 0; at < parts.length; at += 2) {
    const words = split(parts[at] ?? "");
    if (find(words, SUBJECTS) ?? find(words, moods.SETTINGS)) return null;
    const noun = words.findLast((word) => !IGNORED_WORD.test(word) && !COLORLESS.test(word));
    const isMood = find([noun ?? ""], moods.LIGHTS) ?? find([noun ?? ""], moods.LANDS);
    // "A herd of elephants" continues after "of". More than 30 letters are a text without spaces.
    if (noun && !isMood && parts[at + 1] !== "of") return noun.length > 30 ? null : noun;
  }
  return null;
}
