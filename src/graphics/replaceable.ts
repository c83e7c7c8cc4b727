import { randomInt } from "node:crypto";
import { inspectBytes } from "../lib/image/inspect.ts";
import { UndecodableError } from "./decoder.ts";
import { kittyRemoval } from "./kitty.ts";
import { pictureOf } from "./picture.ts";
import { fittedCells, type Screen } from "./terminal.ts";

/** A picture that is shown for a while. */
export interface ReplaceablePicture {
  draw: string;
  /** Removes it, and what is below it, where the cursor is in the line after it. */
  erase: string;
}

/** Whether a terminal can replace a picture without a trace. */
export function canReplace({ protocol }: Screen): boolean {
  return protocol === "kitty" || protocol === "iterm2";
}

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_EDGE = 4096;

/**
 * Decodes a server's preview.
 * @throws UndecodableError if it is no image, or too large
 */
export async function replaceablePicture(bytes: Buffer, screen: Screen): Promise<ReplaceablePicture> {
  const inspection = bytes.length > MAX_BYTES ? null : inspectBytes(bytes);
  if (inspection?.ok !== true) throw new UndecodableError("it is no image");
  const { image } = inspection;
  const { width, height } = image;
  if (Math.min(width, height) < 1 || Math.max(width, height) > MAX_EDGE)
    throw new UndecodableError("it is too large");
  const id = randomInt(1, 2 ** 31);
  const draw = await pictureOf({ source: bytes, image }, screen, id);
  const removal = screen.protocol === "kitty" ? kittyRemoval(id) : "";
  const rows = fittedCells(image, screen, screen.cell).height;
  return { draw, erase: `${removal}\u001b[${rows}A\r\u001b[J` };
}
