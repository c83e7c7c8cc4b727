import { DiskFile } from "../disk-file.ts";
import { groupedDigits } from "../whole-number.ts";
import { avif } from "./avif.ts";
import { describeForeignFile } from "./foreign.ts";
import {
  type ByteSource,
  ByteWindow,
  EXTENSIONS,
  type ImageFormat,
  type ImageType,
  type Verdict,
} from "./format.ts";
import { gif } from "./gif.ts";
import { jpeg } from "./jpeg.ts";
import { png } from "./png.ts";
import { webp } from "./webp.ts";

export type { ImageType } from "./format.ts";

export interface FileInfo {
  type: ImageType | "other" | "unrecognised";
  mediaType: string;
  extension: string;
  /** Display size in pixels, after rotation; 0 if unknown. */
  width: number;
  height: number;
  /** Present if a viewer must rotate or mirror the stored image. */
  isTurned?: true;
}

export interface ImageInfo extends FileInfo {
  type: ImageType;
}

/** `detail` is a phrase, such as "an HTML page". `file` is present if the file is not a supported image. */
type Inspection =
  | { ok: true; image: ImageInfo }
  | { ok: false; problem: "not an image" | "incomplete"; detail: string; file?: FileInfo };

const FORMATS: readonly ImageFormat[] = [png, jpeg, webp, gif, avif];
const HEAD_BYTES = 4096;

/** Detects the type by content and checks that the image is complete, without decoding. @throws errors of `read` */
export function inspectImage(source: ByteSource): Inspection {
  const file = new ByteWindow(source);
  const head = file.bytes(0, Math.min(HEAD_BYTES, file.size)) ?? Buffer.alloc(0);
  const format = FORMATS.find((candidate) => candidate.begins(head));
  if (format === undefined) {
    const { description: detail, format } = describeForeignFile(head);
    const info = format && { file: { ...format, width: 0, height: 0 } };
    return { ok: false, problem: "not an image", detail, ...info };
  }

  const verdict = format.examine(file);
  if (verdict.kind !== "whole") {
    return {
      ok: false,
      problem: "incomplete",
      detail: `${format.name} ${describeDefect(verdict, file.size)}`,
    };
  }
  const { type } = format;
  const names = { type, mediaType: `image/${type}`, extension: EXTENSIONS[type][0] };
  const { size, orientation } = verdict;
  const displaySize = orientation < 5 ? size : { width: size.height, height: size.width };
  return { ok: true, image: { ...names, ...displaySize, ...(orientation !== 1 && { isTurned: true }) } };
}

export function inspectBytes(bytes: Buffer): Inspection {
  return inspectImage({
    size: bytes.length,
    read: (position, length) => bytes.subarray(position, position + length),
  });
}

/** @throws the system's error */
export function inspectFile(path: string): Inspection {
  const file = DiskFile.openToRead(path);
  try {
    return inspectImage(file);
  } finally {
    file.close();
  }
}

function describeDefect(verdict: Exclude<Verdict, { kind: "whole" }>, size: number): string {
  if (verdict.kind === "damaged") return `damaged at byte ${groupedDigits(verdict.at)}`;
  return `cut short at byte ${groupedDigits(size)} of at least ${groupedDigits(verdict.minBytes)}`;
}
