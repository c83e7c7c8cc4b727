import { crc32, deflateSync } from "node:zlib";

/** A whole grey PNG of about so many bytes: its pixels are stored, in chunks of 8 KiB as libpng writes them. */
export function storedPng(bytes) {
  const width = 1023;
  const height = Math.ceil(bytes / (width + 1));
  const pixels = deflateSync(Buffer.alloc((width + 1) * height), { level: 0 });
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const chunks = [Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", header)];
  for (let at = 0; at < pixels.length; at += 8192) chunks.push(chunk("IDAT", pixels.subarray(at, at + 8192)));
  return Buffer.concat([...chunks, chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
