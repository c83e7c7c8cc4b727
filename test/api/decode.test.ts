import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decoded } from "../../src/api/decode.ts";

const TEXT = Buffer.from(JSON.stringify({ code: 0, message: "ok", data: { taskId: "task-1" } }));
const MOST = 1024 * 1024;

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
    expect(await decoded(body, encoding, MOST)).toEqual(TEXT);
  });

  it("that was cut after the last of its text is read", async () => {
    expect(await decoded(gzipSync(TEXT).subarray(0, -8), "gzip", MOST)).toEqual(TEXT);
  });

  it.each([
    ["of an unknown encoding", "zstd", gzipSync(TEXT)],
    ["that is not what it says", "gzip", TEXT],
    ["that is damaged", "br", Buffer.from("nonsense")],
    ["of more than the most", "gzip", gzipSync(Buffer.alloc(2 * MOST))],
    ["of an object's own property", "__proto__", TEXT],
  ])("%s stays as it came", async (_what, encoding, body) => {
    expect(await decoded(body, encoding, MOST)).toBe(body);
  });

  it.each([undefined, "", "identity"])("and one that is none (%j) stay apart", async (encoding) => {
    expect(await decoded(TEXT, encoding, MOST)).toBe(TEXT);
  });
});
