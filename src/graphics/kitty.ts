import { randomInt } from "node:crypto";
import type { Size } from "../lib/image/format.ts";
import { throughTmux } from "./terminal.ts";

// https://sw.kovidgoyal.net/kitty/graphics-protocol/

/** The longest payload of one command, base64. */
const CHUNK = 4096;

/** Shows a PNG at the cursor, so many characters wide and high. @param id by which it can be removed */
export function kittyPicture(png: Buffer, { width, height }: Size, id?: number): string {
  const named = id === undefined ? "" : `i=${id},`;
  return `${transmission(png, `a=T,f=100,q=2,${named}c=${width},r=${height}`).join("")}\n`;
}

/** Removes a picture, wherever it is, and its data. */
export function kittyRemoval(id: number): string {
  return `\u001b_Ga=d,d=I,i=${id},q=2\u001b\\`;
}

/**
 * Does what `kittyPicture` does, in tmux: the picture is sent past it, and placed by characters that tmux keeps and moves like any
 * other text.
 */
export function kittyPictureInTmux(png: Buffer, { width, height }: Size): string {
  // A 24-bit number, which the characters carry as their colour.
  const id = randomInt(0x10000, 0x1000000);
  const cells = { width: Math.min(width, MOST_CELLS), height: Math.min(height, MOST_CELLS) };
  const control = `a=T,U=1,i=${id},f=100,q=2,c=${cells.width},r=${cells.height}`;
  const color = `\u001b[38;2;${id >> 16};${(id >> 8) & 255};${id & 255}m`;
  const columns = ROW_COLUMN_DIACRITICS.slice(0, cells.width);
  const lines = ROW_COLUMN_DIACRITICS.slice(0, cells.height).map((row) => {
    const line = columns.map((column) => PLACEHOLDER + row + column).join("");
    return `${color}${line}\u001b[39m\n`;
  });
  return transmission(png, control).map(throughTmux).join("") + lines.join("");
}

/**
 * The combining characters that stand for a row or a column of a picture: the first one for 0, the next for 1, and so
 * on (rowcolumn-diacritics.txt of Kitty, as many as rows and columns that a picture has at most).
 */
const ROW_COLUMN_DIACRITICS: readonly string[] = [
  "0305 030D 030E 0310 0312 033D 033E 033F 0346 034A 034B 034C 0350 0351 0352 0357 035B 0363 0364 0365 0366 0367 0368",
  "0369 036A 036B 036C 036D 036E 036F 0483 0484 0485 0486 0487 0592 0593 0594 0595 0597 0598 0599 059C 059D 059E 059F",
  "05A0 05A1 05A8 05A9 05AB 05AC 05AF 05C4 0610 0611 0612 0613 0614 0615 0616 0617 0657 0658 0659 065A 065B 065D 065E",
  "06D6 06D7 06D8 06D9 06DA 06DB 06DC 06DF 06E0 06E1 06E2 06E4 06E7 06E8 06EB 06EC 0730 0732 0733 0735 0736 073A 073D",
  "073F 0740 0741 0743 0745 0747 0749 074A 07EB 07EC 07ED 07EE 07EF 07F0 07F1 07F3 0816 0817 0818 0819 081B 081C 081D",
]
  .join(" ")
  .split(" ")
  .map((code) => String.fromCodePoint(Number.parseInt(code, 16)));

const PLACEHOLDER = "\u{10eeee}";
const MOST_CELLS = ROW_COLUMN_DIACRITICS.length;

function transmission(png: Buffer, control: string): string[] {
  const text = png.toString("base64");
  const count = Math.ceil(text.length / CHUNK);
  return Array.from({ length: count }, (_, at) => {
    const more = `m=${at < count - 1 ? 1 : 0}`;
    const payload = text.slice(at * CHUNK, (at + 1) * CHUNK);
    return `\u001b_G${at === 0 ? `${control},${more}` : `q=2,${more}`};${payload}\u001b\\`;
  });
}
