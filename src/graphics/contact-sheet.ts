import { createRequire } from "node:module";
import { loadSharp, scaledPng, UndecodableError } from "./decoder.ts";

/** One picture of the sheet. */
export interface SheetCell {
  /** Its file; null if there is none. */
  image: string | null;
  /** Below it. */
  label: string;
}

/** What sheets are recognised by, wherever they are. */
const SOFTWARE = "imggen contact sheet";

const PICTURE = 320;
const LABEL_HEIGHT = 64;
const GAP = 16;
const TEXT_HEIGHT = 20;
const PAGE = "#f6f6f4";
const EMPTY = "#d8d8d4";

interface Layer {
  input: Buffer;
  left: number;
  top: number;
}

/**
 * A sheet of pictures with their labels, and text below them, as PNG.
 * @throws UndecodableError if sharp or the font is not installed, or an image cannot be decoded
 */
export async function contactSheet(cells: readonly SheetCell[], below: readonly string[]): Promise<Buffer> {
  const sharp = await loadSharp();
  const columns = Math.ceil(Math.sqrt(cells.length));
  const width = GAP + columns * (PICTURE + GAP);
  const layers: Layer[] = [];
  for (const [at, { image, label }] of cells.entries()) {
    const left = GAP + (at % columns) * (PICTURE + GAP);
    const top = GAP + Math.floor(at / columns) * (PICTURE + LABEL_HEIGHT + GAP);
    layers.push(await pictureLayer(image, left, top));
    layers.push({ input: await text(label, PICTURE, LABEL_HEIGHT), left, top: top + PICTURE + 4 });
  }
  let height = GAP + Math.ceil(cells.length / columns) * (PICTURE + LABEL_HEIGHT + GAP);
  for (const line of below) {
    const input = await text(line, width - 2 * GAP, TEXT_HEIGHT * 3);
    layers.push({ input, left: GAP, top: height });
    height += ((await sharp(input).metadata()).height ?? TEXT_HEIGHT) + 8;
  }
  const page = { width, height: height + GAP, channels: 3, background: PAGE } as const;
  const sheet = sharp({ create: page }).composite(layers);
  return sheet
    .withExif({ IFD0: { Software: SOFTWARE } })
    .png()
    .toBuffer();
}

/** Whether an image is a sheet of `contactSheet`, by its first bytes. */
export function isContactSheet(head: Buffer): boolean {
  return head.includes(SOFTWARE);
}

async function pictureLayer(image: string | null, left: number, top: number): Promise<Layer> {
  const sharp = await loadSharp();
  if (image === null) {
    const empty = { width: PICTURE, height: PICTURE, channels: 3, background: EMPTY } as const;
    return { input: await sharp({ create: empty }).png().toBuffer(), left, top };
  }
  const input = await scaledPng(image, PICTURE, PICTURE);
  const { width = PICTURE, height = PICTURE } = await sharp(input).metadata();
  return {
    input,
    left: left + Math.floor((PICTURE - width) / 2),
    top: top + Math.floor((PICTURE - height) / 2),
  };
}

/** Text in a font of our own, cut off below. What it lacks is taken from the system's fonts. */
async function text(content: string, width: number, height: number): Promise<Buffer> {
  const sharp = await loadSharp();
  const image = sharp({
    text: {
      text: escapeMarkup(content),
      font: "DejaVu Sans 11",
      fontfile: fontFile(),
      width,
      wrap: "word-char",
      dpi: 96,
      rgba: true,
    },
  });
  const { data, info } = await image.png().toBuffer({ resolveWithObject: true });
  if (info.height <= height && info.width <= width) return data;
  const part = { left: 0, top: 0, width: Math.min(width, info.width), height: Math.min(height, info.height) };
  return sharp(data).extract(part).png().toBuffer();
}

/** The library parses the text as markup, so markup in it is escaped. It refuses a text of blanks alone. */
function escapeMarkup(content: string): string {
  const escaped = content.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  return escaped.trim() === "" ? "-" : escaped;
}

/** The font of a sheet's texts. @throws UndecodableError if it is not installed */
export function fontFile(): string {
  try {
    return createRequire(import.meta.url).resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf");
  } catch (error) {
    throw new UndecodableError("the optional package dejavu-fonts-ttf is not installed", { cause: error });
  }
}
