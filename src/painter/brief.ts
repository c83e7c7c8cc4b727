import { createHash } from "node:crypto";
import { mix, parseColors, type Rgb } from "./brush.ts";
import { SUBJECTS } from "./drawings.ts";
import * as moods from "./moods.ts";

/** Input of a picture. A hash of the fields is the seed for all details that the prompt does not determine. */
export interface PictureSpec {
  readonly prompt: string;
  readonly model: string;
  readonly references: string;
  readonly taskId: string;
  readonly index: number;
  /** Width in pixels, at least 1. */
  readonly width: number;
  readonly height: number;
}

export type Brief = ReturnType<typeof readBrief>;

export function readBrief(spec: PictureSpec) {
  const { prompt, width, height } = spec;
  const seed = [spec.index, prompt, spec.model, spec.taskId, spec.references].join("\n");
  const { words, excluded } = parsePrompt(prompt);
  const random = seededRandom(`brief\n${seed}`);
  const name = findKey(words, SUBJECTS);
  const [, defaultSetting, defaultHue = ""] =
    (name ? SUBJECTS[name] : "").split("\n", 1)[0]?.split("|") ?? [];
  const setting =
    findKey(words, moods.SETTINGS) ?? (defaultSetting as keyof typeof moods.SETTINGS | undefined);
  const [land, light] = [findKey(words, moods.LANDS), findKey(words, moods.LIGHTS)];
  const colorNames = words.map((word) => findKey([word], moods.COLORS) ?? "");
  // The subject gets the colour that precedes it in the prompt: the boat in "a blue sea and a red boat" is red.
  const hue =
    colorNames.find((color, at) => color && findKey(words.slice(at + 1, at + 3), SUBJECTS)) ?? defaultHue;
  const isGrey =
    words.some((word) => COLORLESS.test(word)) || excluded.has("color") || excluded.has("colour");
  return {
    ...spec,
    setting: setting ?? random.pick(["mountains", "sea", "meadow"] as const),
    isCard: unknownSubject(prompt) !== null || !(setting || land || light),
    subject: name && {
      drawing: SUBJECTS[name],
      main: random.pick(parseColors(hue)),
      isAfloat: defaultSetting === "sea",
    },
    light: moods.parseLight(moods.LIGHTS[light ?? random.pick(["day", "dusk", "golden", "dawn"] as const)]),
    land: moods.parseLand(moods.LANDS[land ?? random.pick(["summer", "spring", "autumn"] as const)]),
    isWinter: land === "winter" && !excluded.has("snow"),
    weather: findKey(words, moods.WEATHERS),
    colors: colorNames.flatMap((color) => (color ? parseColors(color) : [])),
    /** Words for things that the picture must not show, as in the prompt and in the singular. */
    excluded,
    palette: isGrey ? "1 1 1 0" : seededRandom(spec.model).pick(moods.PALETTES),
    /** Length in pixels from which all sizes derive. It depends little on the ratio of the picture. */
    unit: Math.min(Math.sqrt(width * height), 1.6 * Math.min(width, height)),
    /** Creates a random stream for a purpose, so that a change of one part does not change other parts. */
    random: (purpose: string) => seededRandom(`${purpose}\n${seed}`),
  };
}

function seededRandom(seed: string) {
  // Hashes UTF-16, because UTF-8 cannot represent lone surrogates.
  let state = createHash("sha256").update(seed, "utf16le").digest().readInt32LE();
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    const firstMix = Math.imul(state ^ (state >>> 15), state | 1);
    const secondMix = firstMix ^ (firstMix + Math.imul(firstMix ^ (firstMix >>> 7), firstMix | 61));
    return ((secondMix ^ (secondMix >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  return {
    between: (low: number, high: number) => low + (high - low) * next(),
    pick: <T>(items: readonly [T, ...T[]]): T => items[Math.floor(next() * items.length)] ?? items[0],
  };
}

/** Applies a palette to a colour. @param palette factors of red, green and blue, and vividness */
export function gradeColor(color: Rgb, palette: string): Rgb {
  const [red = 1, green = 1, blue = 1, vividness = 1] = palette.split(" ").map(Number);
  const grey = 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2];
  const [r, g, b] = mix([grey, grey, grey], color, vividness);
  const bounded = (value: number) => Math.min(255, Math.max(0, value));
  return [bounded(r * red), bounded(g * green), bounded(b * blue)];
}

const singular = (word: string) =>
  word.replace(/(?<=x|sh|ch)es$|(?<=[^s])s$/, "").replace(/(?<=lea|wol)ve$/, "f");

/** Returns the key of the table's row for the first known word. The words of a row precede its first `|`. */
function findKey<T extends string>(
  words: readonly string[],
  table: Readonly<Record<T, string>>,
): T | undefined {
  for (const word of words)
    for (const key in table) {
      const row = table[key].split("|", 1)[0]?.split(" ");
      if (row?.includes(word) || row?.includes(singular(word))) return key;
    }
  return undefined;
}

const COLORLESS = /^(noir|monochrome|gr[ae]yscale|bw)$/;
const splitWords = (text: string) => text.match(/\p{L}[\p{L}'-]*/gu) ?? [];
const NEGATED =
  /(?<!\p{L})(?:no|not|without|never|don't)(?!\p{L}).*?(?=[^\p{L}'-]+(?:but|with|in|on|at|by|and (?:an?|the)) |[.,;:!?()\n]|$)/gsu;

/** Parses a prompt such as "No clouds or people, but a red fox" into words ("red fox") and excluded words. */
export function parsePrompt(prompt: string): { text: string; words: string[]; excluded: Set<string> } {
  const normalized = prompt
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/\b(black\s*(and|&|n|\/)\s*white|b\s*&\s*w)\b/g, "monochrome")
    .replace(/(?<!\p{L})(\p{L}+?)(?:-free|less)(?!\p{L})/gu, ", no $1,");
  const negated = (normalized.match(NEGATED) ?? []).join(" ");
  const excluded = splitWords(negated).flatMap((word) => [word, singular(word)]);
  const text = normalized.replace(NEGATED, ",");
  return { text, words: splitWords(text), excluded: new Set(excluded) };
}

const NOUN_END =
  /(?<!\p{L})(of|in|on|at|by|near|under|over|behind|beside|with|from|into|through|across|to|for|like|as|is|are|and|or|but)(?!\p{L})|[.,;:!?()\n]/u;
/** Words that cannot be a subject: articles, styles, media, adverbs. */
const IGNORED_WORD =
  /^(an?|the|its?|that|this|very|some|style|art|photo(graph)?|picture|image|painting|drawing|illustration|oil|acrylic|watercolou?r|gouache|pixel|sketch|pencil|ink|charcoal|poster|flat|vector|minimal(ist)?|vivid|pastel|.+(ing|ed|ly))$/;

/** Returns the main noun of a prompt if the painter cannot draw it, otherwise null. */
export function unknownSubject(prompt: string): string | null {
  const parts = parsePrompt(prompt).text.split(NOUN_END);
  for (let at = 0; at < parts.length; at += 2) {
    const words = splitWords(parts[at] ?? "");
    if (findKey(words, SUBJECTS) ?? findKey(words, moods.SETTINGS)) return null;
    const noun = words.findLast((word) => !IGNORED_WORD.test(word) && !COLORLESS.test(word));
    const isMood = findKey([noun ?? ""], moods.LIGHTS) ?? findKey([noun ?? ""], moods.LANDS);
    // In "a herd of elephants", the subject follows "of". A noun of more than 30 letters is a text without spaces.
    if (noun && !isMood && parts[at + 1] !== "of") return noun.length > 30 ? null : noun;
  }
  return null;
}
