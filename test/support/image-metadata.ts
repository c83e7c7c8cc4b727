import { crc32 } from "node:zlib";
import sharp from "sharp";

/** Title of a photograph, in its XMP. */
export const TITLE = "a red fox";

const XMP = `<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${TITLE}</dc:title></rdf:Description>
</rdf:RDF></x:xmpmeta>`;

/** An image of 40 × 24 pixels that lies on its side, with EXIF, XMP and the colour profile of a screen. */
export function photograph(type: "png" | "jpeg" | "webp"): Promise<Buffer> {
  return sharp({ create: { width: 40, height: 24, channels: 3, background: "red" } })
    .withMetadata({ orientation: 6, exif: { IFD0: { Copyright: "Ada" } } })
    .withIccProfile("p3")
    .withXmp(XMP)
    [type]()
    .toBuffer();
}

/** The JPEG with a keyword in Photoshop's resources, IPTC-IIM 2:25. */
export function withIptc(jpeg: Buffer): Buffer {
  const keyword = Buffer.from([0x1c, 2, 25, 0, 3, ...Buffer.from("fox")]);
  const resource = Buffer.from([...Buffer.from("8BIM"), 4, 4, 0, 0, 0, 0, 0, keyword.length]);
  return withSegment(jpeg, 0xed, Buffer.concat([Buffer.from("Photoshop 3.0\0"), resource, keyword]));
}

/** The JPEG with an empty C2PA manifest store: JUMBF in an APP11 segment. */
export function withContentCredentials(jpeg: Buffer): Buffer {
  const uuid = Buffer.from("6332706100110010800000aa00389b71", "hex");
  const description = box("jumd", Buffer.concat([uuid, Buffer.from([3]), Buffer.from("c2pa\0")]));
  const header = Buffer.from([...Buffer.from("JP"), 0, 1, 0, 0, 0, 1]);
  return withSegment(jpeg, 0xeb, Buffer.concat([header, box("jumb", description)]));
}

/** The PNG with a `tEXt` chunk behind its header. */
export function withPngText(png: Buffer, keyword: string, text: string): Buffer {
  const afterHeader = 33;
  const content = Buffer.from(`tEXt${keyword}\0${text}`, "latin1");
  const chunk = Buffer.concat([uint32(content.length - 4), content, uint32(crc32(content))]);
  return Buffer.concat([png.subarray(0, afterHeader), chunk, png.subarray(afterHeader)]);
}

function withSegment(jpeg: Buffer, marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, (content.length + 2) >> 8, (content.length + 2) & 0xff]);
  return Buffer.concat([jpeg.subarray(0, 2), head, content, jpeg.subarray(2)]);
}

function box(type: string, content: Buffer): Buffer {
  return Buffer.concat([uint32(content.length + 8), Buffer.from(type), content]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
