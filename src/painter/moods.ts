import { parseColors } from "./brush.ts";

// In all tables, a row begins with words in the singular, up to the first `|`. Each word is in only one row of a table.

/**
 * Settings, with parts from back to front. The crest is the upper edge of the hill or water before a part. Numbers:
 * - scenery: count, height, distance from 0 (near) to 1 (hidden by haze), and the range of positions below the crest
 * - hill (`rock`, `wood`, `land`): position of the foot below the horizon, rise, distance
 * - subject (`standing` on land, `floating` on water, `figure` for any): height, position below the crest
 */
export const SETTINGS = {
  sea: `sea ocean coast beach island wave harbor harbour bay shore lagoon|rock .02 .1 .66, rock .03 .06 .45, water,
    floating .55 .3, land .85 .04 .1, standing .55 .1`,
  mountains: `mountain alp peak hill alpine summit valley volcano cliff highland lake river pond fjord landscape|
    rock 0 .06 .75, peak 5 .3 .6, peak 3 .42 .25 .02 .02, wood .03 .03 .25, pine 60 .07 .25 .01 .04, standing .42 .04,
    water, floating .42 .4, wood .93 .05, pine 22 .15 .04 .1 .6`,
  city: `city skyline town street downtown metropolis urban skyscraper cyberpunk tokyo york paris london|
    rock 0 .06 .75, tower 17 .6 .55 0 .05, tower 12 .42 .4 0 .05, tower 8 .5 .2 0 .05, water, floating .4 .45,
    land .8 .02 .1, standing .6 .1`,
  forest: `forest wood jungle woodland grove rainforest pine tree oak|wood .05 .04 .7, tree 10 .4 .7 0 .03,
    wood .2 .04 .4, tree 8 .52 .4 0 .03, land .42 .05 .12, grass 60 .04 .1 0 .1, figure .46 .1, grass 22 .11 0 1 1.1`,
  meadow: `meadow garden field flower bouquet lawn park farm countryside daisy poppy tulip sunflower rose|
    land 0 .1 .5, tree 7 .11 .5 0 .03, land .2 .08 .3, tree 6 .13 .3 0 .03, land .42 .07 .1, grass 60 .035 .1 0 .1,
    figure .5 .1, daisy 22 .065 .12 .2 .35, daisy 15 .13 .06 .5 .7, daisy 11 .2 .03 .85 1, daisy 9 .25 0 1.1 1.2`,
} as const;

/** Colours of the land in daylight. The parts of a row are: rock, ground and water; foliage; blossoms. */
export const LANDS = {
  summer: "summer green lush tropical|7a7f86 3f6b3a 2f6f8f|3f7a44 5a9150 2f6340|f2c230 e8505b 9a6bd0",
  spring: "spring blossom sakura|8d8a88 6fa657 4f93b0|8cc26a a9d17c 6fae62|f7a8c4 fbd3e0 fff2a8 b7a0ea",
  autumn: "autumn fall october maple|7d7268 8a5a2c 3f6478|d97a26 c4451f e6a92f|e8a13a c9472b f0d9a0",
  winter: `winter snow snowy snowing blizzard ice icy frost frozen arctic christmas|8b95a0 dfe8f0 5f86a3|5f7f86 7b979b 486a74|d8e6f2 f2c8d0`,
};

export function parseLand(row: string) {
  const [, base = "", leaves = "", petals = ""] = row.split("|");
  const [rock, ground = rock, water = rock] = parseColors(base);
  const concrete = parseColors("8791a3 a08f86 6f7d92 947f8c");
  const [foliage, blossom] = [parseColors(leaves), parseColors(petals)];
  return { rock: [rock] as const, ground, water, foliage, blossom, concrete };
}

/** Times of day: sky from top to bottom; sun, glow, haze and cloud; tint; height of the sun, share of stars, lamps. */
export const LIGHTS = {
  dusk: "dusk sunset evening twilight|1d2450 4b3a7c a94f86 ee7d63 ffc27d|fff0c4 ffab66 d88a86 ff9d85|.58 .44 .56|.16 .35 1",
  dawn: "dawn sunrise morning misty mist fog foggy|5f86bd 97b0d6 dcbfd0 f9cdb9 fff0cd|fffbe6 ffd9a0 e9cfc9 ffe3dc|.82 .74 .8|.2 0 .5",
  day: "day noon midday daylight sunny afternoon bright clear|2f79c4 5fa5de a4d3ef e2f1f3|fffbe0 fff6d2 cfe3ec ffffff|1 1 1|.72 0 0",
  golden: "golden warm|5d86a3 a9b3a0 f0cc86 ffdc8f fff0bd|fffbe2 ffe08a eccb8d fff0c8|.95 .8 .58|.26 0 .5",
  night: `night midnight moon moonlight moonlit nocturne dark star starry starlight|050a20 0b1a40 17326a 34588f|f7f3dc 9db9e6 2c4a7c 5f7fb4|.2 .27 .42|.62 1 1`,
  storm: `storm stormy rain rainy thunder thunderstorm gloomy overcast cloudy|1c232c 37434f 5f6d77 98a3a4 c3c5b8|dfe2d8 cfd3c6 8e999c 39434c|.52 .57 .6|.3 0 1`,
  neon: "neon cyberpunk synthwave vaporwave futuristic scifi|0a0322 260a4e 6a1583 d9237f ff7a59|ffd95e ff3d9a 8a2391 c12a9a|.32 .17 .55|.24 .7 1",
};

export function parseLight(row: string) {
  const [, sky = "", colors = "", shares = "", rest = ""] = row.split("|");
  const [sun, glow = sun, haze = sun, cloud = sun] = parseColors(colors);
  const [red = 1, green = 1, blue = 1] = shares.split(" ").map(Number);
  const [altitude = 0, stars = 0, lamps = 0] = rest.split(" ").map(Number);
  const tint = [red, green, blue] as const;
  return { sky: parseColors(sky), sun, glow, haze, cloud, tint, altitude, stars, lamps };
}

export const WEATHERS = {
  snow: "snow snowing snowfall blizzard|flake 240 .009 0 0 1",
  rain: "rain rainy storm stormy thunderstorm drizzle|drop 170 .04 0 0 1",
};

/** Palettes of models: factors of red, green and blue, and vividness. */
export const PALETTES = ["1 1 1 1", "1.06 1 .86 1.1", ".9 1 1.1 .9", "1 1 1 1.3", "1.05 .94 1 .8"] as const;

/** Words for each colour: names, and things that typically have the colour. */
export const COLORS = {
  d23b2f: "red scarlet crimson ruby apple tomato strawberry cherry fire rose poppy",
  e8792b: "orange flame carrot pumpkin tiger pizza",
  efc03a: "yellow golden gold lemon banana honey cheese sun sunflower",
  "3f9458": "green emerald turquoise teal mint frog grass cactus leaf",
  "2f6fd0": "blue cobalt azure sapphire navy indigo",
  "7b4bc0": "purple violet lavender lilac grape",
  ee7fae: "pink magenta flamingo",
  "8a5a36": "brown coffee chocolate wooden leather bread",
  f4f1ea: "white ivory",
  "2b2a30": "black ebony",
  a9b0b8: "silver chrome steel grey gray",
};
