import type { GradeName } from "../color/grade.ts";
import type { LandName } from "../color/land.ts";
import type { LightName } from "../color/light.ts";
import { hex, type Rgb } from "../color/rgb.ts";
import type { SettingName } from "../setting/settings.ts";
import type { StyleName } from "../style/style-name.ts";
import type { SubjectName } from "../subject/subjects.ts";
import { vocabulary } from "./words.ts";

// Words in the singular and in lower case. Where a word could stand for two things of one table, it is
// listed under the one that more prompts mean.

export const LIGHT_WORDS = vocabulary<LightName>({
  dusk: "dusk sunset evening twilight",
  dawn: "dawn sunrise morning misty mist fog foggy",
  day: "day noon midday daylight sunny afternoon blue bright clear",
  golden: "golden gold warm autumn fall sepia vintage",
  night: "night midnight moon moonlight moonlit moonrise nocturne dark star starry starlight aurora galaxy",
  storm: "storm stormy rain rainy thunder grey gray gloomy overcast cloudy",
  neon: "neon cyberpunk synthwave vaporwave retrowave futuristic scifi",
});

export const LAND_WORDS = vocabulary<LandName>({
  summer: "summer green lush forest jungle",
  spring: "spring blossom cherry pastel sakura garden",
  autumn: "autumn fall october harvest november maple",
  winter: "winter snow snowy ice icy frost frozen arctic christmas december",
  desert: "desert dune sand sandy sahara canyon savanna",
  ocean: "ocean sea tropical beach island lagoon coast",
});

export const GRADE_WORDS = vocabulary<GradeName>({
  noir: "noir black monochrome grayscale greyscale bw charcoal ink pencil",
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

export const SETTING_WORDS = vocabulary<SettingName>({
  sea: "sea ocean coast beach island wave harbor harbour bay shore lagoon",
  lake: "lake river pond fjord reflection",
  mountains: "mountain alps peak hill alpine summit valley volcano cliff highland",
  city: "city skyline town street downtown metropolis urban rooftop skyscraper cyberpunk tokyo york paris london",
  forest: "forest wood jungle woodland grove rainforest pine taiga",
  meadow:
    "meadow garden field flower rose tulip sunflower poppy daisy lavender lawn blossom bouquet bee butterfly",
  space: "space planet galaxy cosmos universe nebula saturn jupiter mars orbit cosmic asteroid astronaut",
  desert: "desert dune sahara canyon cactus savanna camel oasis",
  abstract: "abstract pattern geometric shape bauhaus texture wallpaper fractal",
});

export const SUBJECT_WORDS = vocabulary<SubjectName>({
  lighthouse: "lighthouse beacon",
  boat: "boat ship sailboat sail yacht sailing vessel regatta",
  whale: "whale orca dolphin",
  cat: "cat kitten kitty feline tabby",
  fox: "fox vixen dog wolf puppy corgi shiba coyote",
  deer: "deer stag elk moose reindeer fawn doe",
  bird: "bird owl sparrow robin raven crow finch parrot penguin chicken duck",
  house: "house cabin cottage hut barn home farmhouse farm chalet",
  castle: "castle palace fortress tower citadel kingdom",
  balloon: "balloon airship zeppelin",
  tree: "tree oak willow bonsai maple baobab",
  portrait:
    "portrait person woman man girl boy face people queen king lady gentleman selfie human child princess wizard",
  robot: "robot android mecha cyborg droid automaton astronaut",
});

/** Colours a prompt can ask for by name; they dress the subject. */
export const ACCENT_WORDS: ReadonlyMap<string, Rgb> = new Map(
  Object.entries({
    red: "d23b2f",
    scarlet: "d8281f",
    orange: "e8792b",
    yellow: "efc03a",
    green: "3f9458",
    teal: "1f9a94",
    turquoise: "2fb8ac",
    blue: "2f6fd0",
    purple: "7b4bc0",
    violet: "7b4bc0",
    pink: "ee7fae",
    brown: "8a5a36",
    white: "f4f1ea",
    black: "2b2a30",
    golden: "dca534",
    silver: "b9c0c8",
  }).map(([word, digits]) => [word, hex(digits)]),
);
