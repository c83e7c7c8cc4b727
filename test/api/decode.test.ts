import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decodeBody } from "../../src/api/decode.ts";

const TEXT = Buffer.from(JSON.stringify({ code: 0, message: "ok", data: { taskId: "task-1" } }));
const LIMITS = { maxBytes: 1024 * 1024 };

describe("a compressed reply", () => {
  it.each([
    ["gzip", gzipSync(TEXT)],
    ["x-gzip", gzipSync(TEXT)],
    ["GZIP", gzipSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
    ["deflate", deflateRawSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
    ["deflate, gzip", gzipSync(deflateSync(TEXT))],
    ["identity, gzip", gzipSync(TEXT)],
  ])("(%s) is read", async (encoding, body) => {
    expect(await decodeBody(body, encoding, LIMITS)).toEqual(TEXT);
  });

  it("that was cut after the last of its text is read where it may be cut, and is an error otherwise", async () => {
    const cut = gzipSync(TEXT).subarray(0, -8);
    expect(await decodeBody(cut, "gzip", { ...LIMITS, mayBeCut: true })).toEqual(TEXT);
    await expect(decodeBody(cut, "gzip", LIMITS)).rejects.toThrow();
  });

  it.each([
    ["of an unknown encoding", "zstd", gzipSync(TEXT)],
    ["that is gzip by name alone", "gzip", TEXT],
    ["of an object's own property", "__proto__", TEXT],
  ])("%s stays as it came", async (_what, encoding, body) => {
    expect(await decodeBody(body, encoding, LIMITS)).toBe(body);
  });

  it("that is damaged is an error, and one that would be too large says so", async () => {
    await expect(decodeBody(Buffer.from("nonsense"), "br", LIMITS)).rejects.toThrow();
    const large = gzipSync(Buffer.alloc(2 * LIMITS.maxBytes));
    await expect(decodeBody(large, "gzip", LIMITS)).rejects.toMatchObject({ code: "ERR_BUFFER_TOO_LARGE" });
  });

  it.each([undefined, "", "identity"])("and one that is none (%j) stay apart", async (encoding) => {
    expect(await decodeBody(TEXT, encoding, LIMITS)).toBe(TEXT);
  });
});
