import { expect, it } from "vitest";
import { remarksOn } from "../../../src/sandbox/generator/poll.ts";

const wide = { ratio: "16:9", quality: undefined, width: 1024, height: 576 };

function madeOf(...sizes: readonly (readonly [number, number])[]) {
  const plain = {
    file: "1/image",
    type: "png",
    mediaType: "image/png",
    extension: "png",
    bytes: 9,
    usage: null,
  } as const;
  const images = sizes.map(([width, height]) => ({ ...plain, width, height }));
  return { steps: 2, name: "completed", images, failures: [] } as const;
}

it("an image of another size than was asked for is remarked on, once for each size", () => {
  expect(remarksOn(wide, madeOf([512, 512], [1024, 576], [512, 512]))).toBe(
    "Requested 1024×576 pixels, received 512×512.",
  );
  expect(remarksOn({ ...wide, ratio: undefined, quality: "1K" }, madeOf([576, 1024]))).toContain(
    "received 576×1024",
  );
});

it.each([
  ["that a generator has rounded", wide, [1088, 576]],
  ["where none was asked for", { ...wide, ratio: undefined }, [512, 512]],
  ["where the ratio is the generator's to choose", { ...wide, ratio: "auto", quality: "2K" }, [512, 512]],
] as const)("a size %s is not", (_when, task, size) => {
  expect(remarksOn(task, madeOf(size))).toBe("");
});

it("what became of images that are missing is told too", () => {
  const state = { ...madeOf([512, 512]), failures: [{ outcome: "refused", detail: "Too red." }] as const };
  expect(remarksOn(wide, state)).toBe("Too red. Requested 1024×576 pixels, received 512×512.");
});
