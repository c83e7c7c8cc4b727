import { errorCode } from "../lib/error-text.ts";

type Sharp = typeof import("sharp").default;

/** Error for an image that cannot be decoded. `message` is a clause without a full stop. */
export class UndecodableError extends Error {}

/** Maximum number of pixels, above any model's image. So many decoded pixels take hundreds of megabytes of memory. */
const MAX_PIXELS = 150_000_000;

export interface Pixels {
  data: Uint8Array;
  width: number;
  height: number;
}

/** Sharp is optional, because it does not exist for some systems. @throws UndecodableError if it is not installed */
export async function loadSharp(): Promise<Sharp> {
  try {
    return (await import("sharp")).default;
  } catch (error) {
    const missing = isMissingInExecutable(error)
      ? "imggen as a single executable does not include sharp"
      : "the optional package sharp is not installed";
    throw new UndecodableError(missing, { cause: error });
  }
}

/** Whether a package is missing because this program is a single executable, which cannot load packages. */
export function isMissingInExecutable(error: unknown): boolean {
  return errorCode(error) === "ERR_NOT_IN_EXECUTABLE";
}

/** @throws UndecodableError if the library is not installed or cannot be loaded */
export async function getSharpVersion(): Promise<string> {
  return (await loadSharp()).versions.sharp;
}

export type ImageSource = string | Buffer;

/** Scales a larger image down to fit into the width and height. @throws UndecodableError */
export function scaleToPng(file: ImageSource, width: number, height: number): Promise<Buffer> {
  return withDecodedImage(file, async (image) =>
    image.resize({ width, height, fit: "inside", withoutEnlargement: true }).png().toBuffer(),
  );
}

/** Scales an image to exactly this size, as RGBA. Transparent pixels become black. @throws UndecodableError */
export function scaleToPixels(file: ImageSource, width: number, height: number): Promise<Pixels> {
  return withDecodedImage(file, async (image) => {
    const scaled = image.resize({ width, height, fit: "fill" }).flatten().ensureAlpha();
    const { data, info } = await scaled.toColourspace("srgb").raw().toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height };
  });
}

/** Returns a WebP of at most `edge` pixels per side, with settings for fast encoding. @throws UndecodableError */
export function createThumbnail(file: string, edge: number): Promise<Buffer> {
  return withDecodedImage(file, async (image) =>
    image
      .resize({ width: edge, height: edge, fit: "inside", withoutEnlargement: true })
      .webp({ quality: 75, effort: 1 })
      .toBuffer(),
  );
}

const WRITERS = {
  png: (image: Image) => image.png(),
  jpeg: (image: Image) =>
    image.flatten({ background: "white" }).jpeg({ quality: 92, chromaSubsampling: "4:4:4" }),
  webp: (image: Image) => image.webp({ quality: 92 }),
} as const;

export function isWritable(type: string): type is keyof typeof WRITERS {
  return Object.hasOwn(WRITERS, type);
}

export interface Converted {
  bytes: Buffer;
  lostMetadata: readonly string[];
}

/** Names of the metadata that the library copies if the new image type supports them. */
const METADATA = {
  exif: "EXIF",
  xmp: "XMP",
  icc: "colour profile",
  iptc: "IPTC",
  comments: "PNG text",
} as const;
/** UUID of a C2PA manifest store in any type of file. The manifest is signed, so a conversion would make it invalid. */
const C2PA = Buffer.from("6332706100110010800000aa00389b71", "hex");

/** Converts an image that is not animated, upright and with its metadata. @throws UndecodableError */
export async function convertImage(file: Buffer, type: keyof typeof WRITERS): Promise<Converted> {
  const [bytes, originalMetadata] = await withDecodedImage(file, async (image) => {
    const metadata = await image.metadata();
    if ((metadata.pages ?? 1) > 1) throw new Error("it is animated");
    return [await WRITERS[type](image.keepMetadata()).toBuffer(), metadata] as const;
  });
  const convertedMetadata = await withDecodedImage(bytes, (image) => image.metadata());
  const names = Object.keys(METADATA) as (keyof typeof METADATA)[];
  const lostMetadata: string[] = names
    .filter((name) => originalMetadata[name] && !convertedMetadata[name])
    .map((name) => METADATA[name]);
  return {
    bytes,
    lostMetadata: file.includes(C2PA) ? [...lostMetadata, "C2PA content credentials"] : lostMetadata,
  };
}

type Image = ReturnType<Sharp>;

/** Decodes an image, or the first frame of an animation, and turns it upright. */
async function withDecodedImage<Result>(
  file: ImageSource,
  work: (image: Image) => Promise<Result>,
): Promise<Result> {
  const sharp = await loadSharp();
  try {
    return await work(sharp(file, { limitInputPixels: MAX_PIXELS, failOn: "error" }).autoOrient());
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : String(error);
    throw new UndecodableError(`it cannot be decoded (${why})`, { cause: error });
  }
}
