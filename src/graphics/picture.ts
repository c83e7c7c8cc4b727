import { promises } from "node:fs";
import type { ImageInfo } from "../lib/image/inspect.ts";
import { blockPicture } from "./blocks.ts";
import { scaledPixels, scaledPng, UndecodableError } from "./decoder.ts";
import { fittedCells } from "./fit.ts";
import { iterm2Picture } from "./iterm2.ts";
import { kittyPicture, kittyPictureInTmux } from "./kitty.ts";
import { sixelPicture } from "./sixel.ts";
import type { Screen } from "./terminal.ts";

/** A terminal gets larger files scaled. */
const MOST_BYTES = 8 * 1024 * 1024;
/** What Kitty itself refuses is ten times as much. */
const MOST_EDGE = 8192;

/**
 * An image as a terminal is to be sent it: escape sequences, and a line feed at the end.
 * @throws UndecodableError if that takes a decoder that is missing, or the image cannot be decoded; the file's error
 */
export async function pictureOf(file: string, image: ImageInfo, screen: Screen): Promise<string> {
  const { protocol, cell } = screen;
  if (protocol === "blocks") return blocks(file, image, screen);
  const cells = fittedCells(image, screen, cell);
  const [width, height] = [cells.width * cell.width, cells.height * cell.height];
  if (protocol === "sixel") return sixelPicture(await scaledPixels(file, width, height));
  const isTaken = protocol === "iterm2" ? TAKEN_BY_ITERM2 : TAKEN_BY_KITTY;
  const asItIs = isTaken.has(image.type) && !(await isLarge(file, image));
  const bytes = asItIs ? await promises.readFile(file) : await scaledPng(file, width * 2, height * 2);
  if (protocol === "iterm2") return iterm2Picture(bytes, cells);
  return protocol === "kitty" ? kittyPicture(bytes, cells) : kittyPictureInTmux(bytes, cells);
}

const TAKEN_BY_KITTY: ReadonlySet<string> = new Set(["png"]);
const TAKEN_BY_ITERM2: ReadonlySet<string> = new Set(["png", "jpeg", "gif", "webp"]);

async function isLarge(file: string, { width, height }: ImageInfo): Promise<boolean> {
  return Math.max(width, height) > MOST_EDGE || (await promises.stat(file)).size > MOST_BYTES;
}

async function blocks(file: string, image: ImageInfo, screen: Screen): Promise<string> {
  const { colors } = screen;
  if (colors === "none") throw new UndecodableError("this terminal shows neither pictures nor colours");
  const { width, height } = fittedCells(image, screen, { width: 1, height: 2 });
  return blockPicture(await scaledPixels(file, width, height * 2), colors);
}
