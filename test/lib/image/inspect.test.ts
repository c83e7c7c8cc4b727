import { writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeForeignFile } from "../../../src/lib/image/foreign.ts";
import { inspectFile, inspectImage } from "../../../src/lib/image/inspect.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { buildPng, inspect, pngChunk, pngHeader, pngSignature } from "./builders.ts";
import * as samples from "./samples.ts";

const images = [...Object.values(samples), buildPng(31, 17), buildPng(200, 200, 10)];

describe("any bytes", () => {
  it("of an image that was cut short are never an image", () => {
    const cut = fc
      .constantFrom(...images)
      .chain((image) => fc.nat({ max: image.length - 1 }).map((length) => image.subarray(0, length)));
    fc.assert(
      fc.property(cut, (bytes) => !inspect(bytes).ok),
      { numRuns: 1000 },
    );
  });

  it("get a verdict, and never an exception, also of an image in which some were altered", () => {
    const start = fc.constantFrom(...images.map((image) => image.subarray(0, 40)), Buffer.alloc(0));
    const begun = fc
      .tuple(start, fc.nat({ max: 40 }), fc.uint8Array({ maxLength: 600 }))
      .map(([head, kept, tail]) => Buffer.concat([head.subarray(0, kept), tail]));
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    const altered = fc.tuple(fc.constantFrom(...images), changes).map(([image, each]) => {
      const bytes = Buffer.from(image);
      for (const [at, value] of each) bytes[at % bytes.length] = value;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(begun, altered), (bytes) => "ok" in inspect(bytes)),
      { numRuns: 2000 },
    );
  });
});

it("an empty source, and one that is no image, are named for what they are", async () => {
  expect(inspect(Buffer.alloc(0))).toEqual({ ok: false, problem: "not an image", detail: "empty" });
  const page = inspect(Buffer.from("<html><body>busy</body></html>"));
  expect(page).toEqual({ ok: false, problem: "not an image", detail: "an HTML page" });
});

it("a source that turns out shorter than its size is no whole image", async () => {
  const bytes = buildPng(4, 4);
  const read = (position: number, length: number) =>
    bytes.subarray(position, position + length).subarray(0, 60);
  expect(inspectImage({ size: bytes.length, read })).toMatchObject({ ok: false });
});

it("a large image is read in windows, in order and never whole", async () => {
  const chunk = pngChunk("IDAT", Buffer.alloc(8192));
  const bytes = Buffer.concat([pngSignature, pngHeader(9, 9), ...Array(500).fill(chunk), pngChunk("IEND")]);
  const reads: Array<[position: number, length: number]> = [];
  const read = (position: number, length: number) => {
    reads.push([position, length]);
    return bytes.subarray(position, position + length);
  };
  expect(inspectImage({ size: bytes.length, read })).toMatchObject({ ok: true });
  expect(reads.length).toBeLessThan(bytes.length / 200_000);
  expect(Math.max(...reads.map(([, length]) => length))).toBeLessThanOrEqual(256 * 1024);
  expect(reads).toEqual(reads.toSorted(([a], [b]) => a - b));
});

it("a file on disk is inspected in place", async () => {
  const file = path.join(await temporaryFolder(), "image");
  const inspectOnDisk = async (bytes: Uint8Array) => {
    await writeFile(file, bytes);
    return inspectFile(file);
  };
  const image = { type: "gif", mediaType: "image/gif", extension: "gif", width: 7, height: 5 };
  expect(await inspectOnDisk(samples.gif)).toEqual({ ok: true, image });
  expect(await inspectOnDisk(samples.gif.subarray(0, 90))).toMatchObject({ problem: "incomplete" });
  expect(await inspectOnDisk(new Uint8Array())).toMatchObject({ detail: "empty" });
});

it.each<[string, string | Buffer]>([
  ["empty", ""],
  ["an HTML page", "<!DOCTYPE html><title>Sign in to the network</title>"],
  ["an HTML page", "\uFEFF\n  <html><body><svg></svg></body></html>"],
  ["an SVG document", '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ["an SVG document", '<?xml version="1.0"?>\n<!-- made by hand -->\n<svg width="1"></svg>'],
  ["an XML document", '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
  ["markup text", "<Error>no</Error>"],
  ["JSON text", ' {"code":-1}'],
  ["JSON text", "[]"],
  ["plain text", "Not Found\n"],
  ["plain text", "Zugriff verweigert: ungültig"],
  ["a PDF document", "%PDF-1.7"],
  ["plain text", Buffer.from("grün").subarray(0, 3)],
  ["gzip-compressed data", gzipSync("x")],
  ["a BMP image", Buffer.from("BM\x10\0", "latin1")],
  ["unrecognised data", Buffer.alloc(64)],
  ["unrecognised data", Buffer.from([0xfe, 0xfe, 0xfe, 0xfe])],
])("tells people about %s: %j", (description, content) => {
  const head = typeof content === "string" ? Buffer.from(content) : content;
  expect(describeForeignFile(head).description).toBe(description);
});
