import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inShard, parseShard, RowKeys, rowDigest, type Shard } from "../../../src/core/batch/batch-row.ts";
import { UsageError } from "../../../src/lib/error-types.ts";
import type { GenerationRequest } from "../../../src/task/request.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { share } from "../../support/holds.ts";

const FOX: GenerationRequest = { prompt: "a fox", model: "z-image" };
const URL = "https://images.test/fox.png";

const shards = (count: number): Shard[] =>
  Array.from({ length: count }, (_, index) => parseShard(`${index + 1}/${count}`));

describe("--shard", () => {
  it.each([
    ["1/4", { index: 1, count: 4 }],
    ["4/4", { index: 4, count: 4 }],
    ["1/1", { index: 1, count: 1 }],
    [" 02/10 ", { index: 2, count: 10 }],
    ["10000/10000", { index: 10_000, count: 10_000 }],
  ])("%j is one part of several", (text, shard) => {
    expect(parseShard(text)).toEqual(shard);
  });

  it.each([
    "",
    "1",
    "1/",
    "/4",
    "0/4",
    "5/4",
    "1/0",
    "0/0",
    "-1/4",
    "1/-4",
    "1/4/4",
    "1.5/4",
    "a/b",
    "1/10001",
  ])("%j is none", (text) => {
    expect(() => parseShard(text)).toThrow(UsageError);
    expect(() => parseShard(text)).toThrow(expect.objectContaining({ hint: expect.stringContaining("1/4") }));
  });

  it.each(["1e1/20", "٣/4", "1 / 4", `1/${"9".repeat(400)}`, "NaN/NaN"])("%j is none either", (text) => {
    expect(() => parseShard(text)).toThrow(UsageError);
  });
});

describe("a row's digest", () => {
  it("is of one form, and stays what it is from release to release", () => {
    expect(rowDigest(FOX, undefined)).toBe("d4508eb4662037b4c8024a532d608e74");
    expect(rowDigest({ ...FOX, image: [URL], maxImages: 2, quality: "2K", ratio: "1:1" }, "foxes/1")).toBe(
      "31ccddda87bd75fee41363167885db8a",
    );
  });

  it("is the same in whatever order the request was put together", () => {
    expect(rowDigest({ model: "z-image", prompt: "a fox" }, "a")).toBe(rowDigest(FOX, "a"));
  });

  it("takes one image for a list of one", () => {
    expect(rowDigest({ ...FOX, image: URL }, undefined)).toBe(rowDigest({ ...FOX, image: [URL] }, undefined));
    expect(rowDigest({ ...FOX, image: [] }, undefined)).toBe(rowDigest(FOX, undefined));
  });

  it("is the same wherever the copy of a reference image is", () => {
    const copyIn = (folder: string, digit: string) =>
      rowDigest({ ...FOX, image: [`file:///${folder}/references/${digit.repeat(64)}.png`] }, undefined);
    expect(copyIn("home/ada", "0")).toBe(copyIn("mnt", "0"));
    expect(copyIn("home/ada", "0")).not.toBe(copyIn("home/ada", "1"));
  });

  it("differs where anything differs that is sent, or where the image goes", () => {
    const rows: [GenerationRequest, string?][] = [
      [FOX],
      [FOX, "a"],
      [FOX, ""],
      [FOX, "null"],
      [{ ...FOX, prompt: "a fox " }],
      [{ ...FOX, model: "Z-image" }],
      [{ ...FOX, ratio: "1:1" }],
      [{ ...FOX, quality: "1:1" }],
      [{ ...FOX, maxImages: 1 }],
      [{ ...FOX, maxImages: 2 }],
      [{ ...FOX, image: URL }],
      [{ ...FOX, image: [URL, URL] }],
      [{ ...FOX, image: `${URL},${URL}` }],
    ];
    const digests = rows.map(([request, output]) => rowDigest(request, output));
    expect(new Set(digests).size).toBe(rows.length);
    for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("a row's key", () => {
  it("is its content, and which of its equals it is", () => {
    const keys = new RowKeys();
    expect(["a", "b", "a", "a"].map((digest) => keys.next(digest))).toEqual(["a-1", "b-1", "a-2", "a-3"]);
  });
});

describe("the shards of a batch", () => {
  const digests = Array.from({ length: 4000 }, (_, index) =>
    rowDigest({ ...FOX, prompt: `a fox ${index}` }, undefined),
  );

  it.each([1, 2, 4, 7, 16])("are %i parts that share no row, leave none out, and are about even", (count) => {
    const parts = shards(count).map((shard) => digests.filter((digest) => inShard(digest, shard)));
    expect(parts.flat().toSorted()).toEqual(digests.toSorted());
    const even = digests.length / count;
    for (const part of parts) expect(Math.abs(part.length - even)).toBeLessThan(5 * Math.sqrt(even) + 1);
  });

  it("have each row once, whatever its content", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.integer({ min: 1, max: 200 }), (prompt, count) => {
        const digest = rowDigest({ ...FOX, prompt }, undefined);
        expect(shards(count).filter((shard) => inShard(digest, shard))).toHaveLength(1);
      }),
      { numRuns: share(300) },
    );
  });
});
