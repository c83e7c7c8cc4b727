import { randomInt } from "node:crypto";
import { promises } from "node:fs";
import { image2sixel } from "sixel/lib/SixelEncoder.js";
import type { Size } from "../lib/image/format.ts";
import { type ImageInfo, inspectBytes } from "../lib/image/inspect.ts";
import {
  type ImageSource,
  loadSharp,
  type Pixels,
  scaleToPixels,
  scaleToPng,
  UndecodableError,
} from "./decoder.ts";
import { availableSize, fitCells, type Screen } from "./terminal.ts";

/** Maximum size of a file that is sent to a terminal unchanged. A larger file is scaled first. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Maximum width and height of an image that is sent unchanged, below Kitty's limit of 10,000 pixels. */
const MAX_EDGE = 8192;

export interface DisplayImage {
  source: ImageSource;
  image: Pick<ImageInfo, "type" | "width" | "height" | "isTurned">;
}

/** Returns escape sequences and a line feed. Kitty can later remove the picture with this `id`. @throws UndecodableError; the file's error */
export async function renderPicture(input: DisplayImage, screen: Screen, id?: number): Promise<string> {
  const { source, image } = input;
  const { protocol, cell } = screen;
  if (protocol === "blocks") return renderBlocks(input, screen);
  const cells = fitCells(image, screen, cell);
  const [width, height] = [cells.width * cell.width, cells.height * cell.height];
  if (protocol === "sixel") return sixelPicture(await scaleToPixels(source, width, height));
  const supportedTypes = protocol === "iterm2" ? ITERM2_TYPES : KITTY_TYPES;
  const unchanged = supportedTypes.has(image.type) ? await bytesIfSmall(input) : null;
  const bytes = unchanged ?? (await scaleToPng(source, width * 2, height * 2));
  return protocol === "iterm2" ? iterm2Picture(bytes, cells) : kittyPicture(bytes, cells, id);
}

const KITTY_TYPES: ReadonlySet<string> = new Set(["png"]);
const ITERM2_TYPES: ReadonlySet<string> = new Set(["png", "jpeg", "gif", "webp"]);

/** Returns the unchanged bytes; null if the image must be scaled or rotated first, which few terminals can do. */
async function bytesIfSmall({
  source,
  image: { width, height, isTurned },
}: DisplayImage): Promise<Buffer | null> {
  if (isTurned || Math.max(width, height) > MAX_EDGE) return null;
  if (typeof source !== "string") return source;
  return (await promises.stat(source)).size > MAX_BYTES ? null : promises.readFile(source);
}

async function renderBlocks({ source, image }: DisplayImage, screen: Screen): Promise<string> {
  const { colors } = screen;
  if (colors === "none") throw new UndecodableError("this terminal does not support pictures or colours");
  const { width, height } = fitCells(image, screen, { width: 1, height: 2 });
  return blockPicture(await scaleToPixels(source, width, height * 2), colors);
}

/** `width` and `height` are in characters. Protocol: https://iterm2.com/documentation-images.html */
function iterm2Picture(file: Buffer, { width, height }: Size): string {
  const options = `inline=1;size=${file.length};width=${width};height=${height};preserveAspectRatio=1`;
  return `\u001b]1337;File=${options}:${file.toString("base64")}\u0007\n`;
}

/** Number of colours that every terminal with sixel graphics supports. */
const COLORS = 256;

function sixelPicture({ data, width, height }: Pixels): string {
  // Copies the pixels, because the library reads the whole buffer behind an array.
  return `${image2sixel(Uint8Array.from(data), width, height, COLORS)}\n`;
}

const GAP = 8;

/** Combines images into one picture, with the columns that make the images largest. @throws UndecodableError */
export async function renderGrid(inputs: readonly DisplayImage[], screen: Screen): Promise<DisplayImage> {
  const sharp = await loadSharp();
  const available = availableSize(screen);
  const [maxWidth, maxHeight] = [available.width * screen.cell.width, available.height * screen.cell.height];
  const largest = (side: "width" | "height") => Math.max(...inputs.map(({ image }) => image[side]));
  const [width, height] = [largest("width"), largest("height")];
  const scaleIn = (columns: number) =>
    Math.min(1, maxWidth / columns / width, maxHeight / Math.ceil(inputs.length / columns) / height);
  const columns = inputs.reduce((best, _, at) => (scaleIn(at + 1) >= scaleIn(best) ? at + 1 : best), 1);
  const cellSize = (pixels: number) => Math.max(GAP + 1, Math.floor(pixels * scaleIn(columns)));
  const [column, row] = [cellSize(width), cellSize(height)];
  const layers = await Promise.all(
    inputs.map(async ({ source }, at) => ({
      input: await scaleToPng(source, column - GAP, row - GAP),
      left: (at % columns) * column,
      top: Math.floor(at / columns) * row,
    })),
  );
  const size = { width: columns * column - GAP, height: Math.ceil(inputs.length / columns) * row - GAP };
  const page = sharp({ create: { ...size, channels: 4, background: "#0000" } });
  const source = await page.composite(layers).png().toBuffer();
  return { source, image: { type: "png", ...size } };
}

const HALF_BLOCK = "▀";

/** Draws two pixels per character, one above the other, as half blocks. */
function blockPicture({ data, width, height }: Pixels, colors: "truecolor" | "256"): string {
  const toColor = colors === "truecolor" ? trueColor : paletteColor;
  const colorAt = (x: number, y: number) => toColor(data.subarray((y * width + x) * 4));
  let text = "";
  for (let y = 0; y + 1 < height; y += 2) {
    let previousPaint = "";
    for (let x = 0; x < width; x++) {
      const paint = `\u001b[38;${colorAt(x, y)};48;${colorAt(x, y + 1)}m`;
      text += paint === previousPaint ? HALF_BLOCK : paint + HALF_BLOCK;
      previousPaint = paint;
    }
    text += "\u001b[0m\n";
  }
  return text;
}

function trueColor([red, green, blue]: Uint8Array): string {
  return `2;${red};${green};${blue}`;
}

const CUBE = [0, 95, 135, 175, 215, 255];

/** Returns the nearest colour of the palette of 256 colours, in the 6×6×6 cube or among the greys. */
function paletteColor(pixel: Uint8Array): string {
  const color = [...pixel.subarray(0, 3)];
  const steps = color.map((value) =>
    value < 48 ? 0 : value < 115 ? 1 : Math.min(5, Math.floor((value - 35) / 40)),
  );
  const [red = 0, green = 0, blue = 0] = steps;
  const mean = color.reduce((sum, value) => sum + value, 0) / 3;
  const grey = Math.min(23, Math.max(0, Math.round((mean - 8) / 10)));
  const inCube = steps.map((step) => CUBE[step] ?? 0);
  const inGreys = steps.map(() => 8 + 10 * grey);
  const isGrey = distance(color, inGreys) < distance(color, inCube);
  return `5;${isGrey ? 232 + grey : 16 + 36 * red + 6 * green + blue}`;
}

function distance(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, at) => sum + (value - (b[at] ?? 0)) ** 2, 0);
}

// Protocol: https://sw.kovidgoyal.net/kitty/graphics-protocol/

const CHUNK_CHARACTERS = 4096;

/** `width` and `height` are in characters. The picture can be removed by its `id`. */
function kittyPicture(png: Buffer, { width, height }: Size, id?: number): string {
  const idField = id === undefined ? "" : `i=${id},`;
  const control = `a=T,f=100,q=2,${idField}c=${width},r=${height}`;
  const text = png.toString("base64");
  const count = Math.ceil(text.length / CHUNK_CHARACTERS);
  const commands = Array.from({ length: count }, (_, at) => {
    const more = `m=${at < count - 1 ? 1 : 0}`;
    const payload = text.slice(at * CHUNK_CHARACTERS, (at + 1) * CHUNK_CHARACTERS);
    return `\u001b_G${at === 0 ? `${control},${more}` : `q=2,${more}`};${payload}\u001b\\`;
  });
  return `${commands.join("")}\n`;
}

function kittyRemoval(id: number): string {
  return `\u001b_Ga=d,d=I,i=${id},q=2\u001b\\`;
}

export interface ReplaceablePicture {
  draw: string;
  /** Removes the picture and everything below it. The cursor must be in the line after the picture. */
  erase: string;
}

export function canReplace({ protocol }: Screen): boolean {
  return protocol === "kitty" || protocol === "iterm2";
}

const MAX_PREVIEW_BYTES = 4 * 1024 * 1024;
const MAX_PREVIEW_EDGE = 4096;

export async function renderReplaceablePicture(bytes: Buffer, screen: Screen): Promise<ReplaceablePicture> {
  if (bytes.length > MAX_PREVIEW_BYTES) throw new UndecodableError("it is too large");
  const inspection = inspectBytes(bytes);
  if (!inspection.ok) throw new UndecodableError("it is not an image");
  const { image } = inspection;
  const { width, height } = image;
  if (Math.min(width, height) < 1 || Math.max(width, height) > MAX_PREVIEW_EDGE)
    throw new UndecodableError("it is too large");
  const id = randomInt(1, 2 ** 31);
  const draw = await renderPicture({ source: bytes, image }, screen, id);
  const removal = screen.protocol === "kitty" ? kittyRemoval(id) : "";
  const rows = fitCells(image, screen, screen.cell).height;
  return { draw, erase: `${removal}\u001b[${rows}A\r\u001b[J` };
}
