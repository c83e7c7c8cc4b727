import * as table from "./vocabulary.ts";
import { meaning } from "./vocabulary.ts";

const THINGS = [table.SUBJECT_WORDS, table.FLOWER_WORDS, table.SETTING_WORDS];
const MOODS = [
  table.LIGHT_WORDS,
  table.LAND_WORDS,
  table.WEATHER_WORDS,
  table.GRADE_WORDS,
  table.STYLE_WORDS,
];
/** What follows one of these is where the main noun is, or what it does. */
const ENDS = new Set(
  "in on at by near under over behind beside with without no from into through across to for like as is are and or".split(
    " ",
  ),
);
/** Longer is no word, but a text without spaces. */
const LONGEST = 30;

/** The main noun of a prompt, if it is nothing that is painted: the last of the words that come before any "in" or "with". */
export function unknownSubject(prompt: string): string | null {
  let phrase: string[] = [];
  for (const [token] of `${prompt.toLowerCase()}.`.matchAll(/\p{L}[\p{L}'-]*|[.,;:!?()\n]/gu)) {
    const isEnd = ENDS.has(token) || !/\p{L}/u.test(token);
    // A herd of elephants, a photo of one.
    if (!isEnd && token !== "of") phrase.push(token);
    else if (phrase.some((word) => isIn(word, THINGS))) return null;
    else if (isEnd) {
      const named = phrase.filter((word) => !table.SMALL_WORDS.has(word));
      const noun = named.findLast((word, at) => at === 0 || !/(?:ing|ed|ly)$/.test(word));
      if (noun !== undefined && !isIn(noun, MOODS)) return noun.length > LONGEST ? null : noun;
      phrase = [];
    } else phrase = [];
  }
  return null;
}

function isIn(word: string, tables: readonly ReadonlyMap<string, unknown>[]): boolean {
  return tables.some((each) => meaning(word, each) !== undefined);
}
