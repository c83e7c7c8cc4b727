/** The first bytes of well-known file types that are not images. */
const SIGNATURES: ReadonlyArray<readonly [string, string]> = [
  ["%PDF-", "a PDF document"],
  ["PK\x03\x04", "a ZIP archive"],
  ["\x1f\x8b", "gzip-compressed data"],
  ["BM", "a BMP image"],
  ["II*\0", "a TIFF image"],
  ["MM\0*", "a TIFF image"],
  ["\xff\x0a", "a JPEG XL image"],
  ["\0\0\0\x0cJXL ", "a JPEG XL image"],
];

/**
 * Describes what was received in place of an image, for an error message: "an HTML page", "JSON text", "empty".
 * @param head the first bytes of the file, a few thousand at most
 */
export function describeForeign(head: Buffer): string {
  if (head.length === 0) return "empty";
  const bytes = head.toString("latin1");
  const known = SIGNATURES.find(([signature]) => bytes.startsWith(signature));
  if (known !== undefined) return known[1];
  if (bytes.startsWith("ftyp", 4)) return "a media file that is not AVIF";
  return describeText(
    head
      .toString("utf8")
      .replace(/^\uFEFF/, "")
      .trimStart()
      .toLowerCase(),
  );
}

function describeText(text: string): string {
  if (/^[{[]/.test(text)) return "JSON text";
  if (text.startsWith("<")) return describeMarkup(text);
  // A character cut in two at the end of the head does not mean binary data.
  const isText = text !== "" && !/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]/.test(text.replace(/\ufffd$/, ""));
  return isText ? "plain text" : "unrecognised data";
}

function describeMarkup(text: string): string {
  if (/^<!doctype html|<(?:html|head|body)[\s>]/.test(text)) return "an HTML page";
  if (/<svg[\s>]/.test(text)) return "an SVG document";
  return text.startsWith("<?xml") ? "an XML document" : "markup text";
}
