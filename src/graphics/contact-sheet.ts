import { createRequire } from "node:module";
import { loadSharp, scaleToPng, UndecodableError } from "./decoder.ts";

export interface SheetCell {
  image: string | null;
  label: string;
}

const SOFTWARE = "imggen contact sheet";

const PICTURE_SIZE = 320;
const GAP = 16;
/** Pixels between a picture and its label, and between lines of text. */
const SMALL_GAP = 8;
const MAX_TEXT_HEIGHT = 200;
const PAGE_COLOR = "#f6f6f4";
const PLACEHOLDER = {
  width: PICTURE_SIZE,
  height: PICTURE_SIZE / 2,
  channels: 3,
  background: "#d8d8d4",
} as const;

interface Part {
  input: Buffer;
  width: number;
  height: number;
}

interface Layer {
  input: Buffer;
  left: number;
  top: number;
}

/** Draws text above a grid of pictures. @throws UndecodableError without sharp or the font, or for an invalid image */
export async function drawContactSheet(sheet: {
  top: readonly string[];
  cells: readonly SheetCell[];
  /** Text by which `isContactSheet` recognises the sheet. */
  subject: string;
}): Promise<Buffer> {
  const sharp = await loadSharp();
  const columns = Math.ceil(Math.sqrt(sheet.cells.length));
  const width = GAP + columns * (PICTURE_SIZE + GAP);
  const layers: Layer[] = [];
  let top = GAP;
  for (const line of sheet.top) {
    const { input, height } = await drawText(line, width - 2 * GAP);
    layers.push({ input, left: GAP, top });
    top += height + SMALL_GAP;
  }
  for (let from = 0; from < sheet.cells.length; from += columns) {
    top += GAP;
    const drawn = await Promise.all(sheet.cells.slice(from, from + columns).map(drawCell));
    const tallest = Math.max(...drawn.map(({ picture }) => picture.height));
    for (const [at, { picture, label }] of drawn.entries()) {
      const left = GAP + at * (PICTURE_SIZE + GAP);
      const [offsetX, offsetY] = [Math.floor((PICTURE_SIZE - picture.width) / 2), tallest - picture.height];
      layers.push({ input: picture.input, left: left + offsetX, top: top + offsetY });
      layers.push({ input: label.input, left, top: top + tallest + SMALL_GAP });
    }
    top += tallest + GAP + Math.max(...drawn.map(({ label }) => label.height));
  }
  const page = { width, height: top + SMALL_GAP, channels: 3, background: PAGE_COLOR } as const;
  const image = sharp({ create: page }).composite(layers);
  return image
    .withExif({ IFD0: { Software: softwareTag(sheet.subject) } })
    .png()
    .toBuffer();
}

/** `head` is the beginning of the file. Without a subject, any contact sheet matches. */
export function isContactSheet(head: Buffer, subject?: string): boolean {
  return head.includes(subject === undefined ? SOFTWARE : softwareTag(subject));
}

/** Ends the tag with a semicolon, so that one subject's tag cannot be the beginning of another subject's tag. */
function softwareTag(subject: string): string {
  return `${SOFTWARE} of ${subject};`;
}

async function drawCell({ image, label }: SheetCell): Promise<{ picture: Part; label: Part }> {
  return { picture: await drawPicture(image), label: await drawText(label, PICTURE_SIZE) };
}

async function drawPicture(image: string | null): Promise<Part> {
  const sharp = await loadSharp();
  if (image === null) return { input: await sharp({ create: PLACEHOLDER }).png().toBuffer(), ...PLACEHOLDER };
  const input = await scaleToPng(image, PICTURE_SIZE, PICTURE_SIZE);
  const { width = PICTURE_SIZE, height = PICTURE_SIZE } = await sharp(input).metadata();
  return { input, width, height };
}

/** Draws text in a bundled font. A text that is too high is cut off, and missing letters come from system fonts. */
async function drawText(content: string, width: number): Promise<Part> {
  const sharp = await loadSharp();
  const image = sharp({
    text: {
      text: escapeMarkup(content),
      font: "DejaVu Sans 11",
      fontfile: findFontFile(),
      width,
      wrap: "word-char",
      dpi: 96,
      rgba: true,
    },
  });
  const { data, info } = await image.png().toBuffer({ resolveWithObject: true });
  const part = { width: Math.min(width, info.width), height: Math.min(MAX_TEXT_HEIGHT, info.height) };
  const cut = sharp(data).extract({ left: 0, top: 0, ...part });
  return { input: await cut.png().toBuffer(), ...part };
}

/** Escapes markup, and replaces a blank text with a dash, because the library refuses a blank text. */
function escapeMarkup(content: string): string {
  const escaped = content.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  return escaped.trim() === "" ? "-" : escaped;
}

/** @throws UndecodableError if the font is not installed */
export function findFontFile(): string {
  try {
    return createRequire(import.meta.url).resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf");
  } catch (error) {
    throw new UndecodableError("the optional package dejavu-fonts-ttf is not installed", { cause: error });
  }
}
