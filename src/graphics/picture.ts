import { promises } from "node:fs";
import type { ImageInfo } from "../lib/image/inspect.ts";
import { blockPicture } from "./blocks.ts";
import { type ImageSource, scaledPixels, scaledPng, UndecodableError } from "./decoder.ts";
import { fittedCells } from "./fit.ts";
import { iterm2Picture } from "./iterm2.ts";
import { kittyPicture, kittyPictureInTmux } from "./kitty.ts";
import { sixelPicture } from "./sixel.ts";
import type { Screen } from "./terminal.ts";

/** A terminal gets larger files scaled. */
const MOST_BYTES = 8 * 1024 * 1024;
/** What Kitty itself refuses is ten times as much. */
const MOST_EDGE = 8192;

/** What is shown: a file, or the bytes of one that is nowhere, and what is in it. */
export interface Shown {
  source: ImageSource;
  image: Pick<ImageInfo, "type" | "width" | "height">;
}

/**
 * An image as a terminal is to be sent it: escape sequences, and a line feed at the end.
 * @throws UndecodableError if that takes a decoder that is missing, or the image cannot be decoded; the file's error
 */
export async function pictureOf(shown: Shown, screen: Screen): Promise<string> {
  const { source, image } = shown;
  const { protocol, cell } = screen;
  if (protocol === "blocks") return blocks(shown, screen);
  const cells = fittedCells(image, screen, cell);
  const [width, height] = [cells.width * cell.width, cells.height * cell.height];
  if (protocol === "sixel") return sixelPicture(await scaledPixels(source, width, height));
  const isTaken = protocol === "iterm2" ? TAKEN_BY_ITERM2 : TAKEN_BY_KITTY;
  const unchanged = isTaken.has(image.type) ? await bytesIfSmall(shown) : null;
  const bytes = unchanged ?? (await scaledPng(source, width * 2, height * 2));
  if (protocol === "iterm2") return iterm2Picture(bytes, cells);
  return protocol === "kitty" ? kittyPicture(bytes, cells) : kittyPictureInTmux(bytes, cells);
}

const TAKEN_BY_KITTY: ReadonlySet<string> = new Set(["png"]);
const TAKEN_BY_ITERM2: ReadonlySet<string> = new Set(["png", "jpeg", "gif", "webp"]);

/** Null if a terminal is to get it scaled. */
async function bytesIfSmall({ source, image: { width, height } }: Shown): Promise<Buffer | null> {
  if (Math.max(width, height) > MOST_EDGE) return null;
  if (typeof source !== "string") return source;
  return (await promises.stat(source)).size > MOST_BYTES ? null : promises.readFile(source);
}

async function blocks({ source, image }: Shown, screen: Screen): Promise<string> {
  const { colors } = screen;
  if (colors === "none") throw new UndecodableError("this terminal shows neither pictures nor colours");
  const { width, height } = fittedCells(image, screen, { width: 1, height: 2 });
  return blockPicture(await scaledPixels(source, width, height * 2), colors);
}
