import { DiskFile } from "../disk-file.ts";
import { groupedDigits } from "../whole-number.ts";
import { avif } from "./avif.ts";
import { type ByteSource, ByteWindow } from "./byte-window.ts";
import { describeForeign } from "./foreign.ts";
import type { ImageFormat, ImageType, Verdict } from "./format.ts";
import { gif } from "./gif.ts";
import { jpeg } from "./jpeg.ts";
import { PngStream, png } from "./png.ts";
import { webp } from "./webp.ts";

export type { ImageType } from "./format.ts";

export interface ImageInfo {
  type: ImageType;
  mediaType: string;
  /** Without the dot: `png`, `jpg`, `webp`, `gif`, `avif`. */
  extension: string;
  /** In pixels; 0 if the file does not say. */
  width: number;
  height: number;
}

/** `detail` is a short phrase for an error message: "an HTML page", "PNG cut short at byte 5 of at least 57". */
export type Inspection =
  | { ok: true; image: ImageInfo }
  | { ok: false; problem: "not_an_image" | "incomplete"; detail: string };

const FORMATS: readonly ImageFormat[] = [png, jpeg, webp, gif, avif];
const HEAD_BYTES = 4096;

/**
 * Detects from the bytes alone which image type this is and whether the image is complete. Follows the structure of the
 * format (chunks, segments, boxes) without decoding pixels, with one window of 256 KiB in memory. Throws only what the
 * source's `read` throws.
 */
export function inspectImage(source: ByteSource): Promise<Inspection> {
  return inspectBy(source, (format, file) => format.examine(file));
}

/** As `inspectImage`, for an open file. Its position is neither used nor moved. */
export function inspectFile(file: OpenFile): Promise<Inspection> {
  return inspectImage(sourceOf(file));
}

/** As `inspectImage`, for the file of this name. @throws the system's error */
export async function inspectFileAt(path: string): Promise<Inspection> {
  const file = DiskFile.openToRead(path);
  try {
    return await inspectFile(file);
  } finally {
    file.close();
  }
}

/**
 * Inspects an image during its download. Checks that need every byte, such as the checksums of a PNG, are made as the
 * bytes arrive, so that the file is not read a second time.
 */
export class ArrivingImage {
  readonly #png = new PngStream();

  write(bytes: Buffer): void {
    this.#png.write(bytes);
  }

  /** @param file holds everything that was written */
  inspect(file: OpenFile): Promise<Inspection> {
    return inspectBy(sourceOf(file), async (format, window) =>
      format === png ? this.#png.verdict() : format.examine(window),
    );
  }
}

type OpenFile = Pick<DiskFile, "size" | "read">;

function sourceOf(file: OpenFile): ByteSource {
  const { size } = file;
  return { size, read: async (position, length) => file.read(position, length) };
}

async function inspectBy(
  source: ByteSource,
  examine: (format: ImageFormat, file: ByteWindow) => Promise<Verdict>,
): Promise<Inspection> {
  const file = new ByteWindow(source);
  const head = (await file.bytes(0, Math.min(HEAD_BYTES, file.size))) ?? Buffer.alloc(0);
  const format = FORMATS.find((candidate) => candidate.begins(head));
  if (format === undefined) return { ok: false, problem: "not_an_image", detail: describeForeign(head) };

  const verdict = await examine(format, file);
  if (verdict.kind !== "whole") {
    return { ok: false, problem: "incomplete", detail: `${format.name} ${describe(verdict, file.size)}` };
  }
  const { type, mediaType, extension } = format;
  return { ok: true, image: { type, mediaType, extension, ...verdict.size } };
}

function describe(verdict: Exclude<Verdict, { kind: "whole" }>, size: number): string {
  if (verdict.kind === "damaged") return `damaged at byte ${groupedDigits(verdict.at)}`;
  return `cut short at byte ${groupedDigits(size)} of at least ${groupedDigits(verdict.needs)}`;
}
