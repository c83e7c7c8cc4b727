import { describe, expect, it } from "vitest";
import { words } from "../../support/words.ts";
import { checkRequest } from "../built-in.ts";
import { DOCUMENT, neededImages } from "../document.ts";
import { refusalOf } from "../refusal.ts";

const images = (count: number) =>
  Array.from({ length: count }, (_, index) => `https://images.test/${index}.png`);

describe("the number of reference images", () => {
  it.each(DOCUMENT)("for $id is what the document says: $references", (row) => {
    const [min, max] = row.references ?? [0, null];
    for (const count of [0, 1, 2, 16, 17]) {
      const input = { prompt: "a fox", model: row.id, image: images(count) };
      if (count >= min && count <= (max ?? count)) {
        expect([checkRequest(input).request.image ?? []].flat()).toHaveLength(count);
      } else {
        expect(refusalOf(input).message).toContain(row.id);
      }
    }
  });

  it("is none for a model that makes images from text only, and others are named", () => {
    const { message, hint } = refusalOf({ model: "z-image", image: images(1) });
    expect(message).toBe("--image cannot be used: z-image takes no reference images");
    expect(hint).toBe(
      "Leave it out; models that take an image: vendor1/alpha-pro, beta/4.5-edit, beta/5-lite-image-to-image, gamma-image-2, " +
        "gamma-image-2-5-flare-image, delta-Image",
    );
  });

  it("is one or more for a model that only edits", () => {
    const { message, hint } = refusalOf({ model: "delta-Image" });
    expect(message).toBe("--image is missing: delta-Image needs at least 1 reference image");
    expect(hint).toBe(
      "Give an image's URL; models that need no image: beta/4.5-text-to-image, beta/5-lite-text-to-image, " +
        "gamma-image-2, gamma-image-2-5-flare-text, gamma-image-2-5-sunburst-text, z-image",
    );
  });

  it("is at most 16 where the document says so, with both numbers in the refusal", () => {
    expect(refusalOf({ model: "gamma-image-2", image: images(17) }).message).toBe(
      "--image is given 17 times: gamma-image-2 takes at most 16 reference images",
    );
    expect(refusalOf({ model: "gamma-image-2-5-flare-image" }).message).toContain("1 to 16 reference images");
  });
});

describe("a reference image", () => {
  it.each(
    words(`https://images.test/a.png HTTP://images.test:8080/a.png?sig=1#x
    https://user:secret@images.test/a.png http://[::1]/a.png https://例え.test/画像.png
    data:image/png;base64,AAAA`),
  )("is a URL, and goes out as it was given: %s", (url) => {
    expect(checkRequest({ prompt: "a fox", image: [url] }).request.image).toBe(url);
  });

  it("loses the space around it", () => {
    expect(checkRequest({ prompt: "a fox", image: [" https://images.test/a.png\n"] }).request.image).toBe(
      "https://images.test/a.png",
    );
  });

  it.each([
    ...words(`ftp://images.test/fox.png s3://bucket/fox.png fox.png ./fox.png /home/me/fox.png ~/fox.png
    C:\\fox.png c:/fox.png \\\\server\\fox.png file:///home/me/fox.png FILE:fox.png
    //images.test/fox.png images.test/fox.png localhost:8080/fox.png https://
    https:images.test/fox.png https:///fox.png -`),
    "",
  ])("is no file, no part of a URL, and nothing that the web does not serve: %j", (url) => {
    const { message, hint } = refusalOf({ image: ["https://images.test/a.png", url] });
    expect(message).toContain("is not an http(s) URL");
    expect(hint).toContain("https://");
  });

  it.each(
    words(`fox.png ./a:b.png /home/me/fox.png C:\\fox.png c:/fox.png file:///home/me/fox.png
    FILE:fox.png`),
  )("may be a file where files are uploaded, and stays as it was given: %j", (image) => {
    const input = { prompt: "a fox", model: "gamma-image-2-5-flare-image", image: [image] };
    expect(checkRequest(input, { uploads: true }).request.image).toBe(image);
    expect(() => checkRequest(input, { uploads: false })).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("is a file on this machine"),
        hint: expect.stringContaining("imggen config set uploadCommand"),
      }),
    );
  });

  it.each([...words("ftp://images.test/fox.png s3://bucket/fox.png - localhost:8080/fox.png https://"), ""])(
    "is no file where files are uploaded either: %j",
    (image) => {
      const input = { prompt: "a fox", image: [image] };
      for (const uploads of [true, false])
        expect(() => checkRequest(input, { uploads })).toThrow("is not an http(s) URL");
    },
  );

  it("goes over HTTPS where the document says so", () => {
    const input = { prompt: "a fox", model: "gamma-image-2-5-flare-image" };
    const { message, hint } = refusalOf({ ...input, image: [...images(1), "http://images.test/b.png"] });
    expect(message).toBe(
      "--image http://images.test/b.png: gamma-image-2-5-flare-image takes https:// URLs only",
    );
    expect(hint).toContain("models that take other URLs: vendor1/alpha-pro, ");
    expect(hint).not.toContain("flare");
    expect(checkRequest({ ...input, image: ["HTTPS://images.test/b.png"] }).warnings).toEqual([]);
  });

  it.each([
    ["http://me:secret@images.test/b.png?sig=secret#secret", "--image http://images.test/b.png:"],
    ["https:me:secret@images.test/b.png", "--image https:images.test/b.png is"],
  ])("is shown in a refusal without its password and its signature: %s", (url, start) => {
    const { message } = refusalOf({ model: "gamma-image-2-5-flare-image", image: [url] });
    expect(message).toContain(start);
    expect(message).not.toContain("secret");
  });
});

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
          maxImages === 16
            ? "--max-images 16: at most 15"
            : Number.isInteger(maxImages)
              ? `--max-images ${maxImages}: at least 1`
              : `--max-images ${maxImages} is not a whole number (1 to 15)`,
        );
      }
    },
  );

  it.each(DOCUMENT.filter(({ id }) => id !== "z-image"))("for $id is what the document says", (row) => {
    for (const maxImages of [1, 2, 15]) {
      const draft = { ...draftOf(row), maxImages };
      if (maxImages === 1 || row.maxImages !== 1)
        expect(checkRequest(draft).request).toMatchObject({ maxImages });
      else
        expect(refusalOf(draft)).toEqual({
          message: `--max-images ${maxImages}: ${row.id} makes only one image`,
          hint: `Leave it out; models that make ${maxImages}: vendor2/beta-v4`,
        });
    }
  });

  it("is left out for z-image, which would ignore it, with a warning", () => {
    const { request, warnings } = checkRequest({ prompt: "a fox", model: "z-image", maxImages: 4 });
    expect(request).toEqual({ prompt: "a fox", model: "z-image" });
    expect(warnings).toEqual(["--max-images 4 is left out: z-image always makes one image."]);
    const one = checkRequest({ prompt: "a fox", model: "z-image", maxImages: 1 });
    expect([one.request.maxImages, one.warnings]).toEqual([1, []]);
  });
});
