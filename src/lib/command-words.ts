/**
 * Splits a command into words, by rules that are the same on every platform: blanks separate words; between two single
 * or two double quotes everything stands for itself. Nothing else is special, backslashes and `$` neither.
 * @returns the words, or what is wrong, as a phrase
 */
export function commandWords(text: string): string[] | string {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (const character of text) {
    if (quote !== null) {
      if (character === quote) quote = null;
      else word += character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (!/\s/.test(character)) word = (word ?? "") + character;
    else if (word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (quote !== null) return `a quote ${quote} is not closed`;
  if (word !== null) words.push(word);
  return words.length > 0 ? words : "it is empty";
}
