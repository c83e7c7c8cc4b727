export interface ForeignFile {
  /** Phrase for messages: "an HTML page", "JSON text", "empty". */
  description: string;
  /** Null for text or an empty body, which a server sends if it has no file. */
  format: { type: "other" | "unrecognised"; mediaType: string; extension: string } | null;
}

const SIGNATURES: ReadonlyArray<readonly [RegExp, string, string, string]> = [
  [/^%PDF-/, "a PDF document", "application/pdf", "pdf"],
  [/^PK\x03\x04/, "a ZIP archive", "application/zip", "zip"],
  [/^\x1f\x8b/, "gzip-compressed data", "application/gzip", "gz"],
  [/^BM/, "a BMP image", "image/bmp", "bmp"],
  [/^(?:II\*\0|MM\0\*)/, "a TIFF image", "image/tiff", "tif"],
  [/^(?:\xff\x0a|\0\0\0\x0cJXL )/, "a JPEG XL image", "image/jxl", "jxl"],
  [/^\x1aE\xdf\xa3/, "a WebM or Matroska video", "video/webm", "webm"],
  [/^.{4}ftyp(?:hei|hev|mif1|msf1)/s, "a HEIF image", "image/heif", "heif"],
  [/^.{4}ftypqt/s, "a QuickTime video", "video/quicktime", "mov"],
  [/^.{4}ftyp(?:iso|mp4|avc1|M4V|dash)/s, "an MP4 video", "video/mp4", "mp4"],
  [/^.{4}ftyp/s, "a media file that is not AVIF", "application/octet-stream", "bin"],
];

const SVG = "an SVG document";
const UNRECOGNISED = "unrecognised data";

/** @param head the first bytes of the file, at most a few thousand */
export function describeForeignFile(head: Buffer): ForeignFile {
  const bytes = head.toString("latin1");
  const match = SIGNATURES.find(([signature]) => signature.test(bytes));
  if (match !== undefined) {
    const [, what, mediaType, extension] = match;
    return { description: what, format: { type: "other", mediaType, extension } };
  }
  const what = head.length === 0 ? "empty" : describeText(decodeText(head));
  if (what === SVG)
    return { description: what, format: { type: "other", mediaType: "image/svg+xml", extension: "svg" } };
  if (what !== UNRECOGNISED) return { description: what, format: null };
  const mediaType = "application/octet-stream";
  return { description: what, format: { type: "unrecognised", mediaType, extension: "bin" } };
}

function decodeText(head: Buffer): string {
  return head
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .trimStart()
    .toLowerCase();
}

function describeText(text: string): string {
  if (/^[{[]/.test(text)) return "JSON text";
  if (text.startsWith("<")) return describeMarkup(text);
  const isText = text !== "" && !/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]/.test(text.replace(/\ufffd$/, ""));
  return isText ? "plain text" : UNRECOGNISED;
}

function describeMarkup(text: string): string {
  if (/^<!doctype html|<(?:html|head|body)[\s>]/.test(text)) return "an HTML page";
  if (/<svg[\s>]/.test(text)) return SVG;
  return text.startsWith("<?xml") ? "an XML document" : "markup text";
}
