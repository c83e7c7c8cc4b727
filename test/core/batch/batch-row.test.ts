import { describe, expect, it } from "vitest";
import { RowKeys, rowDigest } from "../../../src/core/batch/batch-row.ts";
import type { GenerationRequest } from "../../../src/task/request.ts";

const FOX: GenerationRequest = { prompt: "a fox", model: "z-image" };
const URL = "https://images.test/fox.png";

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
