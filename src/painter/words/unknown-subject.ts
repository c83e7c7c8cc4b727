import * as table from "./vocabulary.ts";
import { find } from "./vocabulary.ts";

const THINGS = [table.SUBJECT_WORDS, table.SETTING_WORDS];
const LOOKS = [table.LIGHT_WORDS, table.LAND_WORDS, table.VIVID_WORDS, table.STYLE_WORDS];
/** What follows one of these is where the main noun is, or what it does. */
const END =
  /^(in|on|at|by|near|under|over|behind|beside|with|without|no|from|into|through|across|to|for|like|as|is|are|and|or|[^\p{L}]+)$/u;
/** Words that say nothing about what is to be seen. */
const SMALL =
  /^(a|an|the|of|its?|that|this|very|some|style|art|photo|picture|image|painting|drawing|illustration)$/;
/** Longer is no word, but a text without spaces. */
const LONGEST = 30;

/** The main noun of a prompt, if it is nothing that is painted: the last of the words that come before any "in" or "with". */
export function unknownSubject(prompt: string): string | null {
  let phrase: string[] = [];
  let before = "";
  for (const [token] of `${prompt.toLowerCase()}.`.matchAll(/\p{L}[\p{L}'-]*|[.,;:!?()\n]/gu)) {
    const isEnd = END.test(token);
    // A herd of elephants, a photo of one.
    if (!isEnd && token !== "of") phrase.push(token);
    else if (phrase.some((word) => isIn(word, THINGS))) return null;
    else if (isEnd) {
      const named = phrase.filter((word) => !SMALL.test(word));
      const noun = named.findLast((word, at) => at === 0 || !/(?:ing|ed|ly)$/.test(word));
      const isWanted = !/^(no|without)$/.test(before);
      if (noun && isWanted && !isIn(noun, LOOKS)) return noun.length > LONGEST ? null : noun;
      phrase = [];
      before = token;
    } else phrase = [];
  }
  return null;
}

function isIn(word: string, tables: readonly Readonly<Record<string, string>>[]): boolean {
  return tables.some((each) => find([word], each) !== undefined);
}
