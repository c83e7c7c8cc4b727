import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstInvalidByte } from "../../src/lib/read-file.ts";
import { share } from "../support/holds.ts";

describe("the first byte that is no UTF-8", () => {
  it.each([
    ["", -1],
    ["61 62", -1],
    ["ef bf bd", -1],
    ["ff", 0],
    ["61 ff", 1],
    ["61 e2 82", 1],
    ["ef bf 78", 0],
    ["ef bf bd 61 ef bf", 4],
    ["ef bf bd ef bf bd 80", 6],
    ["c3 a9 c3", 2],
    ["ed a0 80", 0],
    ["f0 9f a6 8a ff", 4],
    ["c0 80", 0],
  ])("of %s is %i", (hex, at) => {
    expect(firstInvalidByte(Buffer.from(hex.replaceAll(" ", ""), "hex"))).toBe(at);
  });

  it("is where a strict decoder stops, whatever the bytes", () => {
    const bytes = fc.array(
      fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.constantFrom("é", "🦊", "\ufffd", "a").map(Buffer.from)),
    );
    fc.assert(
      fc.property(bytes, (parts) => {
        const all = Buffer.concat(parts);
        const at = firstInvalidByte(all);
        const strictly = (end: number, stream: boolean) =>
          new TextDecoder("utf-8", { fatal: true }).decode(all.subarray(0, end), { stream });
        if (at === -1) expect(() => strictly(all.length, false)).not.toThrow();
        else {
          expect(() => strictly(at, false)).not.toThrow();
          expect(() => strictly(all.length, false)).toThrow();
          expect(() => strictly(at + 1, false)).toThrow();
        }
      }),
      { numRuns: share(5000) },
    );
  });
});
