import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { DecodingSink } from "../../src/api/decoding-sink.ts";

const NO_FLOW = { pause: () => {}, resume: () => {} };

it("decompresses each chunk as it was when it was written, although its memory is filled again at once", async () => {
  const file = randomBytes(2_000_000);
  const compressed = gzipSync(file, { level: 0 });
  const memory = Buffer.alloc(64 * 1024);
  const received: Buffer[] = [];
  const sink = new DecodingSink({ write: (chunk) => void received.push(Buffer.from(chunk)) });
  sink.decode("gzip");
  for (let at = 0; at < compressed.length; at += memory.length) {
    const length = compressed.copy(memory, 0, at);
    sink.write(memory.subarray(0, length), NO_FLOW);
    memory.fill(0);
  }
  await sink.finish();
  expect(Buffer.concat(received).equals(file)).toBe(true);
});
