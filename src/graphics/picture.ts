import { promises } from "node:fs";
import { image2sixel } from "sixel/lib/SixelEncoder.js";
import type { Size } from "../lib/image/format.ts";
import type { ImageInfo } from "../lib/image/inspect.ts";
import { blockPicture } from "./blocks.ts";
import {
  type ImageSource,
  loadSharp,
  type Pixels,
  scaledPixels,
  scaledPng,
  UndecodableError,
} from "./decoder.ts";
import { kittyPicture } from "./kitty.ts";
import { fittedCells, roomOf, type Screen } from "./terminal.ts";

/** A terminal gets larger files scaled. */
const MAX_BYTES = 8 * 1024 * 1024;
/** What Kitty itself refuses is ten times as much. */
const MAX_EDGE = 8192;

/** What is shown: a file, or the bytes of one that is nowhere, and what is in it. */
export interface Shown {
  source: ImageSource;
  image: Pick<ImageInfo, "type" | "width" | "height" | "isTurned">;
}

/**
 * An image as a terminal is to be sent it: escape sequences, and a line feed at the end.
 * @param id by which Kitty can remove it
 * @throws UndecodableError if that takes a decoder that is missing, or the image cannot be decoded; the file's error
 */
export async function pictureOf(shown: Shown, screen: Screen, id?: number): Promise<string> {
  const { source, image } = shown;
  const { protocol, cell } = screen;
  if (protocol === "blocks") return blocks(shown, screen);
  const cells = fittedCells(image, screen, cell);
  const [width, height] = [cells.width * cell.width, cells.height * cell.height];
  if (protocol === "sixel") return sixelPicture(await scaledPixels(source, width, height));
  const isTaken = protocol === "iterm2" ? TAKEN_BY_ITERM2 : TAKEN_BY_KITTY;
  const unchanged = isTaken.has(image.type) ? await bytesIfSmall(shown) : null;
  const bytes = unchanged ?? (await scaledPng(source, width * 2, height * 2));
  return protocol === "iterm2" ? iterm2Picture(bytes, cells) : kittyPicture(bytes, cells, id);
}

const TAKEN_BY_KITTY: ReadonlySet<string> = new Set(["png"]);
const TAKEN_BY_ITERM2: ReadonlySet<string> = new Set(["png", "jpeg", "gif", "webp"]);

/** Null if a terminal is to get it scaled, or turned: few terminals do that themselves. */
async function bytesIfSmall({ source, image: { width, height, isTurned } }: Shown): Promise<Buffer | null> {
  if (isTurned || Math.max(width, height) > MAX_EDGE) return null;
  if (typeof source !== "string") return source;
  return (await promises.stat(source)).size > MAX_BYTES ? null : promises.readFile(source);
}

async function blocks({ source, image }: Shown, screen: Screen): Promise<string> {
  const { colors } = screen;
  if (colors === "none") throw new UndecodableError("this terminal shows neither pictures nor colours");
  const { width, height } = fittedCells(image, screen, { width: 1, height: 2 });
  return blockPicture(await scaledPixels(source, width, height * 2), colors);
}

/** Shows an image file of any type at the cursor, so many characters wide and high: https://iterm2.com/documentation-images.html */
function iterm2Picture(file: Buffer, { width, height }: Size): string {
  const how = `inline=1;size=${file.length};width=${width};height=${height};preserveAspectRatio=1`;
  return `\u001b]1337;File=${how}:${file.toString("base64")}\u0007\n`;
}

/** What terminals with sixel graphics have at least. */
const COLORS = 256;

/** Shows pixels at the cursor. */
function sixelPicture({ data, width, height }: Pixels): string {
  // The library reads the array's whole buffer, so it gets a copy of this part alone.
  return `${image2sixel(Uint8Array.from(data), width, height, COLORS)}\n`;
}

/** Pixels between two images. */
const GAP = 8;

/**
 * Several images as one picture that fits a terminal: in as many columns as let them be largest, with as few rows as
 * that takes.
 * @throws UndecodableError
 */
export async function gridOf(shown: readonly Shown[], screen: Screen): Promise<Shown> {
  const sharp = await loadSharp();
  const room = roomOf(screen);
  const [wide, high] = [room.width * screen.cell.width, room.height * screen.cell.height];
  const largest = (side: "width" | "height") => Math.max(...shown.map(({ image }) => image[side]));
  const [width, height] = [largest("width"), largest("height")];
  const scaleIn = (columns: number) =>
    Math.min(1, wide / columns / width, high / Math.ceil(shown.length / columns) / height);
  const columns = shown.reduce((best, _, at) => (scaleIn(at + 1) >= scaleIn(best) ? at + 1 : best), 1);
  const place = (pixels: number) => Math.max(GAP + 1, Math.floor(pixels * scaleIn(columns)));
  const [column, row] = [place(width), place(height)];
  const layers = await Promise.all(
    shown.map(async ({ source }, at) => ({
      input: await scaledPng(source, column - GAP, row - GAP),
      left: (at % columns) * column,
      top: Math.floor(at / columns) * row,
    })),
  );
  const size = { width: columns * column - GAP, height: Math.ceil(shown.length / columns) * row - GAP };
  const page = sharp({ create: { ...size, channels: 4, background: "#0000" } });
  const source = await page.composite(layers).png().toBuffer();
  return { source, image: { type: "png", ...size } };
}
