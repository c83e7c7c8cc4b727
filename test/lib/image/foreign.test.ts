import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { describeForeign } from "../../../src/lib/image/inspect.ts";

it.each([
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
])("tells people about %s: %j", (description, text) => {
  expect(describeForeign(Buffer.from(text))).toBe(description);
});

it("tells people about files that are no text", () => {
  expect(describeForeign(gzipSync("x"))).toBe("gzip-compressed data");
  expect(describeForeign(Buffer.from("BM\x10\0", "latin1"))).toBe("a BMP image");
  expect(describeForeign(Buffer.alloc(64))).toBe("unrecognised data");
  expect(describeForeign(Buffer.from([0xfe, 0xfe, 0xfe, 0xfe]))).toBe("unrecognised data");
});

it("takes text for text, even where the head ends within a character", () => {
  expect(describeForeign(Buffer.from("grün").subarray(0, 3))).toBe("plain text");
});
