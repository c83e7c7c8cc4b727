import type { Size } from "../lib/image/format.ts";

// https://sw.kovidgoyal.net/kitty/graphics-protocol/

/** The longest payload of one command, base64. */
const CHUNK = 4096;

/** Shows a PNG at the cursor, so many characters wide and high. @param id by which it can be removed */
export function kittyPicture(png: Buffer, { width, height }: Size, id?: number): string {
  const named = id === undefined ? "" : `i=${id},`;
  const control = `a=T,f=100,q=2,${named}c=${width},r=${height}`;
  const text = png.toString("base64");
  const count = Math.ceil(text.length / CHUNK);
  const commands = Array.from({ length: count }, (_, at) => {
    const more = `m=${at < count - 1 ? 1 : 0}`;
    const payload = text.slice(at * CHUNK, (at + 1) * CHUNK);
    return `\u001b_G${at === 0 ? `${control},${more}` : `q=2,${more}`};${payload}\u001b\\`;
  });
  return `${commands.join("")}\n`;
}

/** Removes a picture, wherever it is, and its data. */
export function kittyRemoval(id: number): string {
  return `\u001b_Ga=d,d=I,i=${id},q=2\u001b\\`;
}
