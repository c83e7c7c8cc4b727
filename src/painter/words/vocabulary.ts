import { hex, type Rgb } from "../canvas/rgb.ts";
import type { GradeName, LandName, LightName, StyleName } from "../data/palettes.ts";
import type { SceneryName } from "../data/scenery.ts";
import type { SubjectName } from "../data/subjects.ts";
import type { PlantName } from "../data/surroundings.ts";

/** The words of a prompt, in lower case and in order: those that ask for something, and those it rules out. */
export interface Words {
  readonly wanted: readonly string[];
  readonly excluded: ReadonlySet<string>;
}

const NEGATORS = new Set("no not without never except excluding minus avoid nor neither don't".split(" "));
/** What follows one of these is asked for again. */
const TURNS = new Set(
  "but with in on at by near under over behind beside only just instead while".split(" "),
);
const ARTICLES = new Set("a an the".split(" "));

/** "No clouds or people, but a red fox" wants a red fox, and rules out clouds and people. */
export function wordsOf(prompt: string): Words {
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
    if (NEGATORS.has(token)) negated = true;
    else if (!/\p{L}/u.test(token) || TURNS.has(token)) negated = false;
    else if (last === "and" && ARTICLES.has(token)) negated = false;
    else if (negated) excluded.add(token).add(singular(token));
    else wanted.push(token);
    last = token;
  }
  return { wanted, excluded };
}

/** Tables hold words in the singular. */
export function singular(word: string): string {
  return word.replace(/(?<=x|sh|ch)es$|(?<=[^s])s$/, "").replace(/(?<=lea|wol)ve$/, "f");
}

/** What a word of the prompt stands for in a table. */
export function meaning<T>(word: string, table: ReadonlyMap<string, T>): T | undefined {
  return table.get(word) ?? table.get(singular(word));
}

/** What the earliest word that is in the table stands for. */
export function firstMeaning<T>(words: readonly string[], table: ReadonlyMap<string, T>): T | undefined {
  for (const word of words) {
    const value = meaning(word, table);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A table written as a list of words for each value. */
export function vocabulary<T extends string>(
  lists: Readonly<Partial<Record<T, string>>>,
): ReadonlyMap<string, T> {
  const entries = Object.entries<string | undefined>(lists);
  return new Map(
    entries.flatMap(([value, list]) => (list ?? "").split(" ").map((word) => [word, value as T] as const)),
  );
}

// Words in the singular and in lower case. Where a word could stand for two things of one table, it is
// listed under the one that more prompts mean.

export const LIGHT_WORDS = vocabulary<LightName>({
  dusk: "dusk sunset evening twilight",
  dawn: "dawn sunrise morning misty mist fog foggy",
  day: "day noon midday daylight sunny afternoon bright clear",
  golden: "golden gold warm autumn fall vintage",
  night: "night midnight moon moonlight moonlit moonrise nocturne dark star starry starlight aurora galaxy",
  storm: "storm stormy rain rainy thunder thunderstorm gloomy overcast cloudy",
  neon: "neon cyberpunk synthwave vaporwave retrowave futuristic scifi",
});

export const LAND_WORDS = vocabulary<LandName>({
  summer: "summer green lush forest jungle",
  spring: "spring blossom cherry pastel sakura garden",
  autumn: "autumn fall october harvest november maple",
  winter:
    "winter snow snowy snowing snowfall snowflake snowman snowstorm blizzard ice icy frost frozen arctic christmas december",
  desert: "desert dune sand sandy sahara canyon savanna",
  ocean: "ocean sea tropical beach island lagoon coast",
});

export type Weather = "snow" | "rain" | "mist";

export const WEATHER_WORDS = vocabulary<Weather>({
  snow: "snow snowing snowfall snowflake snowstorm blizzard",
  rain: "rain rainy storm stormy thunderstorm drizzle",
  mist: "mist misty fog foggy haze hazy",
});

export const GRADE_WORDS = vocabulary<GradeName>({
  noir: "noir monochrome grayscale greyscale bw",
  sepia: "sepia vintage antique nostalgic daguerreotype",
  pastel: "pastel soft dreamy gentle delicate kawaii",
  vivid: "vivid vibrant colorful colourful saturated psychedelic",
});

export const STYLE_WORDS = vocabulary<StyleName>({
  oil: "oil impressionist impressionism impasto canvas gogh monet acrylic painterly painting",
  watercolor: "watercolor watercolour aquarelle gouache wash",
  pixels: "pixel voxel retro bit arcade",
  sketch: "sketch pencil line drawing ink charcoal engraving etching doodle lineart",
  poster: "poster flat vector minimalist minimalistic minimal screenprint travel woodcut linocut icon logo",
});

export const SETTING_WORDS = vocabulary<SceneryName>({
  sea: "sea ocean coast beach island wave harbor harbour bay shore lagoon",
  lake: "lake river pond fjord reflection",
  mountains: "mountain alp alps peak hill alpine summit valley volcano cliff highland",
  city: "city skyline town street downtown metropolis urban rooftop skyscraper cyberpunk tokyo york paris london building",
  forest: "forest wood jungle woodland grove rainforest pine taiga",
  meadow: "meadow garden field flower bouquet lawn blossom bee butterfly park farm countryside",
  space: "space planet galaxy cosmos universe nebula saturn jupiter mars orbit cosmic asteroid astronaut",
  desert: "desert dune sahara canyon cactus savanna camel oasis",
  forms: "abstract pattern geometric shape bauhaus texture wallpaper fractal",
  table: "table desk kitchen café cafe breakfast",
});

export const SUBJECT_WORDS = vocabulary<SubjectName>({
  lighthouse: "lighthouse beacon",
  boat: "boat ship sailboat sail yacht sailing vessel regatta",
  whale: "whale orca dolphin",
  cat: "cat kitten kitty feline tabby",
  fox: "fox vixen",
  dog: "dog wolf puppy corgi shiba coyote hound",
  hare: "hare rabbit bunny",
  deer: "deer stag elk moose reindeer fawn doe",
  owl: "owl owlet",
  bird: "bird sparrow robin raven crow finch parrot chicken duck",
  house: "house cabin cottage hut barn home farmhouse chalet",
  castle: "castle palace fortress tower citadel kingdom",
  balloon: "balloon airship zeppelin",
  tree: "tree oak willow bonsai maple baobab",
  portrait:
    "portrait person woman man girl boy face people queen king lady gentleman selfie human child princess wizard",
  robot: "robot android mecha cyborg droid automaton astronaut",
  cup: "cup mug coffee tea espresso cappuccino latte cocoa",
  planet: "planet saturn jupiter mars neptune venus",
});

/** Flowers that are asked for by name, wherever some grow. */
export const FLOWER_WORDS = vocabulary<PlantName>({
  daisy: "daisy",
  tulip: "tulip",
  poppy: "poppy rose",
  sunflower: "sunflower",
});

/** Colours by name, and some things that everybody knows the colour of. */
export const COLOR_WORDS: ReadonlyMap<string, Rgb> = new Map(
  Object.entries({
    d23b2f: "red apple tomato strawberry cherry fire lava",
    d8281f: "scarlet crimson ruby",
    e8792b: "orange flame carrot pumpkin tiger pizza",
    efc03a: "yellow lemon banana honey cheese sun",
    "3f9458": "green emerald frog grass cactus leaf",
    "1f9a94": "teal",
    "2fb8ac": "turquoise aqua mint",
    "2f6fd0": "blue cobalt azure sapphire",
    "26356f": "navy indigo",
    "7b4bc0": "purple violet grape amethyst",
    b48ae0: "lavender lilac",
    d23f9a: "magenta fuchsia",
    ee7fae: "pink flamingo",
    "8a5a36": "brown coffee chocolate wood wooden leather bread",
    d9b98a: "beige tan cream",
    f4f1ea: "white ivory",
    "2b2a30": "black ebony",
    dca534: "golden gold brass",
    b9c0c8: "silver chrome steel steam iron",
    "8d929a": "gray grey",
  }).flatMap(([digits, words]) => words.split(" ").map((word) => [word, hex(digits)] as const)),
);

/** Words that say nothing about what is to be seen. */
export const SMALL_WORDS = new Set(
  "a an the of and or in on at by to for from with into over under near is are it its that this very some style art photo picture image painting drawing illustration".split(
    " ",
  ),
);
