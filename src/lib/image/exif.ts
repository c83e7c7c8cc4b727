const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
const ORIENTATION = 0x0112;
const SHORT = 3;

/** Prefix of the TIFF data in a JPEG, and in some WebP files. */
export const EXIF_PREFIX = Buffer.from("Exif\0\0", "latin1");

/** Returns the Exif orientation from 1 (as stored, the default) to 8. From 5 to 8, width and height are swapped. */
export function readOrientation(exif: Buffer): number {
  const isPrefixed = exif.subarray(0, EXIF_PREFIX.length).equals(EXIF_PREFIX);
  const tiff = isPrefixed ? exif.subarray(EXIF_PREFIX.length) : exif;
  const byteOrder = tiff.toString("latin1", 0, 2);
  if (tiff.length < HEADER_BYTES || (byteOrder !== "II" && byteOrder !== "MM")) return 1;
  const short = (at: number) => (byteOrder === "II" ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const first = byteOrder === "II" ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (first + 2 > tiff.length) return 1;
  const end = Math.min(first + 2 + short(first) * ENTRY_BYTES, tiff.length);
  for (let at = first + 2; at + ENTRY_BYTES <= end; at += ENTRY_BYTES) {
    if (short(at) !== ORIENTATION || short(at + 2) !== SHORT) continue;
    const orientation = short(at + 8);
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  return 1;
}
