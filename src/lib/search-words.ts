/** Scripts without spaces between words, in which a word can begin anywhere. */
const UNSPACED = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]/u;
const LETTER = /^[\p{L}\p{N}]/u;

/** Whether each search word begins a word of the text, in any letter case: `owl` matches `two owls`, not `a bowl`. */
export function matchesWords(search: string, text: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  return words.every((word) => {
    const escapedWord = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const mayBeInside = UNSPACED.test(word) || !LETTER.test(word);
    return new RegExp(mayBeInside ? escapedWord : `(?<![\\p{L}\\p{N}])${escapedWord}`, "u").test(lower);
  });
}
