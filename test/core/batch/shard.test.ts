import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rowDigest } from "../../../src/core/batch/batch-row.ts";
import { isInShard, parseShard, type Shard } from "../../../src/core/batch/shard.ts";
import { UsageError } from "../../../src/lib/error-types.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { share } from "../../support/holds.ts";
import { words } from "../../support/words.ts";

const FOX = { prompt: "a fox", model: "z-image" };

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

  const NONE = words("1 1/ /4 0/4 5/4 1/0 0/0 -1/4 1/-4 1/4/4 1.5/4 a/b 1/10001 1e1/20 ٣/4 NaN/NaN");
  it.each([...NONE, "", "1 / 4", `1/${"9".repeat(400)}`])("%j is none", (text) => {
    expect(() => parseShard(text)).toThrow(UsageError);
    expect(() => parseShard(text)).toThrow(expect.objectContaining({ hint: expect.stringContaining("1/4") }));
  });
});

describe("the shards of a batch", () => {
  const digests = Array.from({ length: 4000 }, (_, index) =>
    rowDigest({ ...FOX, prompt: `a fox ${index}` }, undefined),
  );

  it.each([1, 2, 4, 7, 16])("are %i parts that share no row, leave none out, and are about even", (count) => {
    const parts = shards(count).map((shard) => digests.filter((digest) => isInShard(digest, shard)));
    expect(parts.flat().toSorted()).toEqual(digests.toSorted());
    const even = digests.length / count;
    for (const part of parts) expect(Math.abs(part.length - even)).toBeLessThan(5 * Math.sqrt(even) + 1);
  });

  it("have each row once, whatever its content", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.integer({ min: 1, max: 200 }), (prompt, count) => {
        const digest = rowDigest({ ...FOX, prompt }, undefined);
        expect(shards(count).filter((shard) => isInShard(digest, shard))).toHaveLength(1);
      }),
      { numRuns: share(300) },
    );
  });
});
