import { randomInt } from "node:crypto";
import type { Size } from "../lib/image/format.ts";
import { ROW_COLUMN_DIACRITICS } from "./diacritics.ts";
import { throughTmux } from "./terminal.ts";

// https://sw.kovidgoyal.net/kitty/graphics-protocol/

/** The longest payload of one command, base64. */
const CHUNK = 4096;

/** Shows a PNG at the cursor, so many characters wide and high. */
export function kittyPicture(png: Buffer, { width, height }: Size): string {
  return `${transmission(png, `a=T,f=100,q=2,c=${width},r=${height}`).join("")}\n`;
}

/**
 * As `kittyPicture`, in tmux: the picture is sent past it, and placed by characters that tmux keeps and moves like any
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
