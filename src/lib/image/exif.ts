const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
const ORIENTATION = 0x0112;
const SHORT = 3;

/** The form of a TIFF file, with what precedes it in a JPEG, and in some WebP files. */
export const EXIF_PREFIX = Buffer.from("Exif\0\0", "latin1");

/**
 * How an image is to be turned: 1 is as it is stored, up to 8; from 5 on, width and height change places. 1 if the
 * metadata does not say. Section 4.6.4 of Exif 2.3.
 */
export function orientationIn(exif: Buffer): number {
  const isPrefixed = exif.subarray(0, EXIF_PREFIX.length).equals(EXIF_PREFIX);
  const tiff = isPrefixed ? exif.subarray(EXIF_PREFIX.length) : exif;
  const order = tiff.toString("latin1", 0, 2);
  if (tiff.length < HEADER_BYTES || (order !== "II" && order !== "MM")) return 1;
  const short = (at: number) => (order === "II" ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const first = order === "II" ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (first + 2 > tiff.length) return 1;
  const end = Math.min(first + 2 + short(first) * ENTRY_BYTES, tiff.length);
  for (let at = first + 2; at + ENTRY_BYTES <= end; at += ENTRY_BYTES) {
    if (short(at) !== ORIENTATION || short(at + 2) !== SHORT) continue;
    const orientation = short(at + 8);
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  return 1;
}
