import { describe, expect, it } from "vitest";
import { checkRequest } from "../built-in.ts";
import { DOCUMENT, neededImages } from "../document.ts";
import { refusalOf } from "../refusal.ts";

const draftOf = (row: (typeof DOCUMENT)[number]) => ({
  prompt: "a fox",
  model: row.id,
  image: neededImages(row),
});

describe("the number of images", () => {
  it.each([0, -1, 16, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "is from 1 to 15 for every model: not %d",
    (maxImages) => {
      for (const row of DOCUMENT) {
        expect(refusalOf({ ...draftOf(row), maxImages }).message).toBe(
          `--max-images ${maxImages} is not a whole number from 1 to 15`,
        );
      }
    },
  );

  it.each(DOCUMENT)("may be one for $id", (row) => {
    expect(checkRequest({ ...draftOf(row), maxImages: 1 }).request.maxImages).toBe(1);
  });

  const single = DOCUMENT.filter((row) => row.maxImages === 1 && row.id !== "z-image");
  it.each(single)("may not be more than one for $id", (row) => {
    for (const maxImages of [2, 15]) {
      const { message, hint } = refusalOf({ ...draftOf(row), maxImages });
      expect(message).toBe(`--max-images ${maxImages}: ${row.id} makes only one image`);
      expect(hint).toBe(`Leave it out; models that make ${maxImages}: vendor2/beta-v4`);
    }
  });

  const several = DOCUMENT.filter((row) => row.maxImages !== 1);
  it.each(several)("may be up to 15 for $id", (row) => {
    for (const maxImages of [2, 15]) {
      expect(checkRequest({ ...draftOf(row), maxImages }).request.maxImages).toBe(maxImages);
    }
  });

  it("is left out for z-image, which would ignore it, with a warning", () => {
    const { request, warnings } = checkRequest({ prompt: "a fox", model: "z-image", maxImages: 4 });
    expect(request).toEqual({ prompt: "a fox", model: "z-image" });
    expect(warnings).toEqual(["--max-images 4 is left out: z-image always makes one image."]);
    expect(checkRequest({ prompt: "a fox", model: "z-image", maxImages: 1 }).warnings).toEqual([]);
  });
});
