/**
 * The combining characters that stand for a row or a column of a picture: the first one for 0, the next for 1, and so
 * on (rowcolumn-diacritics.txt of Kitty, as many as rows and columns that a picture has at most).
 */
export const ROW_COLUMN_DIACRITICS: readonly string[] = [
  "0305 030D 030E 0310 0312 033D 033E 033F 0346 034A 034B 034C 0350 0351 0352 0357 035B 0363 0364 0365 0366 0367 0368",
  "0369 036A 036B 036C 036D 036E 036F 0483 0484 0485 0486 0487 0592 0593 0594 0595 0597 0598 0599 059C 059D 059E 059F",
  "05A0 05A1 05A8 05A9 05AB 05AC 05AF 05C4 0610 0611 0612 0613 0614 0615 0616 0617 0657 0658 0659 065A 065B 065D 065E",
  "06D6 06D7 06D8 06D9 06DA 06DB 06DC 06DF 06E0 06E1 06E2 06E4 06E7 06E8 06EB 06EC 0730 0732 0733 0735 0736 073A 073D",
  "073F 0740 0741 0743 0745 0747 0749 074A 07EB 07EC 07ED 07EE 07EF 07F0 07F1 07F3 0816 0817 0818 0819 081B 081C 081D",
]
  .join(" ")
  .split(" ")
  .map((code) => String.fromCodePoint(Number.parseInt(code, 16)));
