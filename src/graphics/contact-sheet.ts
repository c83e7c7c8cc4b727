import { createRequire } from "node:module";
import { loadSharp, scaledPng, UndecodableError } from "./decoder.ts";

/** One picture of a sheet. */
export interface SheetCell {
  /** Its file; null if there is none. */
  image: string | null;
  /** Text below it. */
  label: string;
}

/** Mark in the metadata of every sheet. */
const SOFTWARE = "imggen contact sheet";

const PICTURE = 320;
const GAP = 16;
/** Pixels between a picture and its label, and between lines of text. */
const SMALL_GAP = 8;
const MAX_TEXT_HEIGHT = 200;
const PAGE = "#f6f6f4";
/** The placeholder of a missing picture. */
const EMPTY = { width: PICTURE, height: PICTURE / 2, channels: 3, background: "#d8d8d4" } as const;

/** A drawn part of a sheet. */
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

/**
 * A square grid of pictures with their labels, below lines of text, as PNG.
 * @throws UndecodableError if sharp or the font is not installed, or an image cannot be decoded
 */
export async function contactSheet(sheet: {
  top: readonly string[];
  cells: readonly SheetCell[];
  /** Identifies the content of the sheet, for `isContactSheet`. */
  subject: string;
}): Promise<Buffer> {
  const sharp = await loadSharp();
  const columns = Math.ceil(Math.sqrt(sheet.cells.length));
  const width = GAP + columns * (PICTURE + GAP);
  const layers: Layer[] = [];
  let top = GAP;
  for (const line of sheet.top) {
    const { input, height } = await text(line, width - 2 * GAP);
    layers.push({ input, left: GAP, top });
    top += height + SMALL_GAP;
  }
  for (let from = 0; from < sheet.cells.length; from += columns) {
    top += GAP;
    const drawn = await Promise.all(sheet.cells.slice(from, from + columns).map(drawCell));
    const tallest = Math.max(...drawn.map(({ picture }) => picture.height));
    for (const [at, { picture, label }] of drawn.entries()) {
      const left = GAP + at * (PICTURE + GAP);
      const [aside, above] = [Math.floor((PICTURE - picture.width) / 2), tallest - picture.height];
      layers.push({ input: picture.input, left: left + aside, top: top + above });
      layers.push({ input: label.input, left, top: top + tallest + SMALL_GAP });
    }
    top += tallest + GAP + Math.max(...drawn.map(({ label }) => label.height));
  }
  const page = { width, height: top + SMALL_GAP, channels: 3, background: PAGE } as const;
  const image = sharp({ create: page }).composite(layers);
  return image
    .withExif({ IFD0: { Software: softwareTag(sheet.subject) } })
    .png()
    .toBuffer();
}

/**
 * Whether an image is a sheet of `contactSheet`, by its first bytes.
 * @param of whether it is a sheet of that too; default: of anything
 */
export function isContactSheet(head: Buffer, of?: string): boolean {
  return head.includes(of === undefined ? SOFTWARE : softwareTag(of));
}

/** Ends in a semicolon, so that no tag is a prefix of another. */
function softwareTag(what: string): string {
  // The library would drop a text in brackets.
  return `${SOFTWARE} of ${what};`;
}

async function drawCell({ image, label }: SheetCell): Promise<{ picture: Part; label: Part }> {
  return { picture: await drawPicture(image), label: await text(label, PICTURE) };
}

async function drawPicture(image: string | null): Promise<Part> {
  const sharp = await loadSharp();
  if (image === null) return { input: await sharp({ create: EMPTY }).png().toBuffer(), ...EMPTY };
  const input = await scaledPng(image, PICTURE, PICTURE);
  const { width = PICTURE, height = PICTURE } = await sharp(input).metadata();
  return { input, width, height };
}

/** Text in a bundled font, cut off below. Missing letters come from the system's fonts. */
async function text(content: string, width: number): Promise<Part> {
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
  const part = { width: Math.min(width, info.width), height: Math.min(MAX_TEXT_HEIGHT, info.height) };
  const cut = sharp(data).extract({ left: 0, top: 0, ...part });
  return { input: await cut.png().toBuffer(), ...part };
}

/** Escapes markup for the library, which refuses a text of spaces alone. */
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
