import type { SubjectName } from "../data/drawings.ts";
import type { LandName, LightName, SettingName } from "../data/moods.ts";

/** Words that stand for a thing, in lower case and in the singular, separated by spaces. */
type Vocabulary<T extends string> = Readonly<Record<T, string>>;

// Where a word could stand for two things of one table, it is listed under the one that more prompts mean.

export const LIGHT_WORDS: Vocabulary<LightName> = {
  dusk: "dusk sunset evening twilight",
  dawn: "dawn sunrise morning misty mist fog foggy",
  day: "day noon midday daylight sunny afternoon bright clear",
  golden: "golden gold warm autumn fall vintage",
  night: "night midnight moon moonlight moonlit nocturne dark star starry starlight",
  storm: "storm stormy rain rainy thunder thunderstorm gloomy overcast cloudy",
  neon: "neon cyberpunk synthwave vaporwave futuristic scifi",
};

export const LAND_WORDS: Vocabulary<LandName> = {
  summer: "summer green lush jungle tropical",
  spring: "spring blossom cherry pastel sakura garden",
  autumn: "autumn fall october november harvest maple",
  winter: "winter snow snowy snowing snowfall blizzard ice icy frost frozen arctic christmas december",
};

export type WeatherName = "snow" | "rain" | "mist";

export const WEATHER_WORDS: Vocabulary<WeatherName> = {
  snow: "snow snowing snowfall blizzard",
  rain: "rain rainy storm stormy thunderstorm drizzle",
  mist: "mist misty fog foggy haze hazy",
};

/** How vivid the colours are: 1 leaves them as they are. */
export const VIVID_WORDS: Vocabulary<string> = {
  0: "noir monochrome grayscale greyscale bw",
  0.6: "pastel soft dreamy gentle vintage",
  1.4: "vivid vibrant colorful colourful saturated psychedelic",
};

/** How a picture is painted. */
export type StyleName = "plain" | "oil" | "watercolor" | "pixels" | "sketch" | "poster";

export const STYLE_WORDS: Vocabulary<StyleName> = {
  plain: "photo photograph",
  oil: "oil impressionist impressionism impasto canvas gogh monet acrylic painterly painting",
  watercolor: "watercolor watercolour aquarelle gouache wash",
  pixels: "pixel voxel retro bit arcade",
  sketch: "sketch pencil line drawing ink charcoal engraving etching doodle lineart",
  poster: "poster flat vector minimalist minimalistic minimal screenprint travel icon logo",
};

export const SETTING_WORDS: Vocabulary<SettingName> = {
  sea: "sea ocean coast beach island wave harbor harbour bay shore lagoon",
  mountains: "mountain alp peak hill alpine summit valley volcano cliff highland lake river pond fjord",
  city: "city skyline town street downtown metropolis urban skyscraper cyberpunk tokyo york paris london",
  forest: "forest wood jungle woodland grove rainforest pine tree oak",
  meadow: "meadow garden field flower bouquet lawn park farm countryside daisy poppy tulip sunflower rose",
  shapes: "abstract pattern geometric shape bauhaus texture wallpaper",
};

export const SUBJECT_WORDS: Vocabulary<SubjectName> = {
  fox: "fox vixen",
  cat: "cat kitten kitty feline tabby",
  dog: "dog wolf puppy corgi hound husky retriever",
  owl: "owl owlet bird",
  lighthouse: "lighthouse beacon",
  house: "house cabin cottage hut barn home farmhouse chalet",
  castle: "castle palace fortress tower citadel kingdom",
  boat: "boat ship sailboat sail yacht sailing vessel",
};

/** Colours by name, and some things that everybody knows the colour of. */
export const COLOR_WORDS: Vocabulary<string> = {
  d23b2f: "red scarlet crimson ruby apple tomato strawberry cherry fire rose poppy",
  e8792b: "orange flame carrot pumpkin tiger pizza",
  efc03a: "yellow lemon banana honey cheese sun sunflower",
  "3f9458": "green emerald frog grass cactus leaf",
  "2fb8ac": "turquoise teal aqua mint",
  "2f6fd0": "blue cobalt azure sapphire",
  "26356f": "navy indigo",
  "7b4bc0": "purple violet lavender lilac grape",
  ee7fae: "pink magenta flamingo",
  "8a5a36": "brown coffee chocolate wooden leather bread",
  f4f1ea: "white ivory",
  "2b2a30": "black ebony",
  dca534: "golden gold brass",
  b9c0c8: "silver chrome steel grey gray",
};

/** Tables hold words in the singular. */
export function singular(word: string): string {
  return word.replace(/(?<=x|sh|ch)es$|(?<=[^s])s$/, "").replace(/(?<=lea|wol)ve$/, "f");
}

/** What the earliest word that is in a table of the vocabulary stands for: a key of the table. */
export function find<T extends string>(words: readonly string[], table: Vocabulary<T>): T | undefined {
  for (const word of words) {
    const one = singular(word);
    for (const key in table)
      if (table[key].split(" ").some((name) => name === word || name === one)) return key;
  }
  return undefined;
}
