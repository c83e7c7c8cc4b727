import { createHash } from "node:crypto";
import { hexes, mix, type Rgb } from "./brush.ts";
import { SUBJECTS } from "./drawings.ts";
import * as moods from "./moods.ts";

/** What a picture is made for. Whatever the prompt leaves open follows from all of it together. */
export interface PictureSpec {
  readonly prompt: string;
  readonly model: string;
  /** Any text that identifies the reference images. */
  readonly references: string;
  readonly taskId: string;
  /** Which of the task's images this is, from 0. */
  readonly index: number;
  /** In pixels, at least 1. */
  readonly width: number;
  readonly height: number;
}

/** What the painter is to paint. */
export type Brief = ReturnType<typeof readBrief>;

export function readBrief(spec: PictureSpec) {
  const { prompt, width, height } = spec;
  const seed = [spec.index, prompt, spec.model, spec.taskId, spec.references].join("\n");
  const { wanted, excluded } = wordsOf(prompt);
  const draw = seededRandom(`brief\n${seed}`);
  const name = find(wanted, SUBJECTS);
  const [, home, usual = ""] = (name ? SUBJECTS[name] : "").split("\n", 1)[0]?.split("|") ?? [];
  const place = find(wanted, moods.SETTINGS) ?? (home as keyof typeof moods.SETTINGS | undefined);
  const [land, light] = [find(wanted, moods.LANDS), find(wanted, moods.LIGHTS)];
  const named = wanted.map((word) => find([word], moods.COLORS) ?? "");
  // Of "a blue sea and a red boat", the boat is red: the colour right before it is its own.
  const own = named.find((color, at) => color && find(wanted.slice(at + 1, at + 3), SUBJECTS)) ?? usual;
  const isGrey =
    wanted.some((word) => COLORLESS.test(word)) || excluded.has("color") || excluded.has("colour");
  return {
    ...spec,
    setting: place ?? draw.pick(["mountains", "sea", "meadow"] as const),
    isCard: unknownSubject(prompt) !== null || !(place || land || light),
    subject: name && { drawing: SUBJECTS[name], main: draw.pick(hexes(own)), isAfloat: home === "sea" },
    light: moods.readLight(moods.LIGHTS[light ?? draw.pick(["day", "dusk", "golden", "dawn"] as const)]),
    land: moods.readLand(moods.LANDS[land ?? draw.pick(["summer", "spring", "autumn"] as const)]),
    isWinter: land === "winter" && !excluded.has("snow"),
    weather: find(wanted, moods.WEATHERS),
    /** The colours that the prompt names, in order. */
    colors: named.flatMap((color) => (color ? hexes(color) : [])),
    /** Words for what is not to be seen, in the singular as well. */
    excluded,
    palette: isGrey ? "1 1 1 0" : seededRandom(spec.model).pick(moods.PALETTES),
    /** A length that suits the frame, whatever its ratio: "the size of the picture". */
    unit: Math.min(Math.sqrt(width * height), 1.6 * Math.min(width, height)),
    /** A stream of numbers of its own for each purpose, so that one part does not move another. */
    random: (purpose: string) => seededRandom(`${purpose}\n${seed}`),
  };
}

/** Numbers that are the same for the same seed, on every machine. */
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
export function graded(color: Rgb, palette: string): Rgb {
  const [red = 1, green = 1, blue = 1, vividness = 1] = palette.split(" ").map(Number);
  const grey = 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2];
  const [r, g, b] = mix([grey, grey, grey], color, vividness);
  const bounded = (value: number) => Math.min(255, Math.max(0, value));
  return [bounded(r * red), bounded(g * green), bounded(b * blue)];
}

const singular = (word: string) =>
  word.replace(/(?<=x|sh|ch)es$|(?<=[^s])s$/, "").replace(/(?<=lea|wol)ve$/, "f");

/** The key of the row that the earliest known word stands for. Words of a row come first, up to a `|`. */
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

/** "No clouds or people, but a red fox" wants a red fox, and rules out clouds and people. */
export function wordsOf(prompt: string): { text: string; wanted: string[]; excluded: Set<string> } {
  const spelled = prompt
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/\b(black\s*(and|&|n|\/)\s*white|b\s*&\s*w)\b/g, "monochrome")
    .replace(/(?<!\p{L})(\p{L}+?)(?:-free|less)(?!\p{L})/gu, ", no $1,");
  const excluded = split((spelled.match(NEGATED) ?? []).join(" ")).flatMap((word) => [word, singular(word)]);
  const text = spelled.replace(NEGATED, ",");
  return { text, wanted: split(text), excluded: new Set(excluded) };
}

/** The main noun comes before the first of these, or after "of". */
const END =
  /(?<!\p{L})(of|in|on|at|by|near|under|over|behind|beside|with|from|into|through|across|to|for|like|as|is|are|and|or|but)(?!\p{L})|[.,;:!?()\n]/u;
/** Words that say nothing about what is to be seen, those for styles and what is done included. */
const SMALL =
  /^(an?|the|its?|that|this|very|some|style|art|photo(graph)?|picture|image|painting|drawing|illustration|oil|acrylic|watercolou?r|gouache|pixel|sketch|pencil|ink|charcoal|poster|flat|vector|minimal(ist)?|vivid|pastel|.+(ing|ed|ly))$/;

/** The main noun of a prompt, if it is nothing that is painted: the last of the words that come before any "in" or "with". */
export function unknownSubject(prompt: string): string | null {
  const parts = wordsOf(prompt).text.split(END);
  for (let at = 0; at < parts.length; at += 2) {
    const words = split(parts[at] ?? "");
    if (find(words, SUBJECTS) ?? find(words, moods.SETTINGS)) return null;
    const noun = words.findLast((word) => !SMALL.test(word) && !COLORLESS.test(word));
    const isMood = find([noun ?? ""], moods.LIGHTS) ?? find([noun ?? ""], moods.LANDS);
    // A herd of elephants, a photo of one. Longer than 30 letters is no word, but a text without spaces.
    if (noun && !isMood && parts[at + 1] !== "of") return noun.length > 30 ? null : noun;
  }
  return null;
}
