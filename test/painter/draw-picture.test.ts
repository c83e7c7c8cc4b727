import { describe, expect, test } from "vitest";
import { drawPicture } from "../../src/painter/draw-picture.ts";
import { decodePng, draw, type PictureRequest, requestFor } from "./picture-spec.ts";

const LIGHTHOUSE = "a lighthouse at dusk, oil painting";

/** How far apart two pictures are: the mean difference of their values, out of 255. */
function distance(one: Buffer, other: Buffer): number {
  return one.reduce((sum, value, i) => sum + Math.abs(value - (other[i] ?? 0)), 0) / one.length;
}

const pixelsOf = async (drawing: Promise<Buffer>) => (await decodePng(await drawing)).pixels;

function average(pixels: Buffer, channel: 0 | 1 | 2): number {
  let sum = 0;
  for (let at = channel; at < pixels.length; at += 3) sum += pixels[at] ?? 0;
  return sum / (pixels.length / 3);
}

describe("a picture of the sandbox", () => {
  test.each([
    [64, 64],
    [64, 36],
    [5, 40],
    [40, 5],
    [1, 8],
    [8, 1],
    [1, 1],
  ])("of %i by %i pixels is a complete PNG file of just that size", async (width, height) => {
    for (const prompt of [LIGHTHOUSE, "fox in the snow", "rainy city", "a forest", "a tiger", "sea"]) {
      const png = await decodePng(await draw(prompt, { width, height }));
      expect(png).toMatchObject({ width, height });
    }
  });

  test("says in the file where it comes from", async () => {
    expect((await draw("sea")).includes("tEXtSoftware\0imggen sandbox")).toBe(true);
  });

  test.each([LIGHTHOUSE, "a boat", "castle", "an owl in the rain", "forest", "space"])(
    "of %j is the same bytes every time",
    async (prompt) => {
      expect((await draw(prompt)).equals(await draw(prompt))).toBe(true);
    },
  );

  test("differs between prompts, also about the same thing", async () => {
    const prompts = ["a lighthouse at dusk", "the lighthouse at dusk", "lighthouse, dusk", "a fox", "zzz"];
    const files = await Promise.all(prompts.map((prompt) => draw(prompt)));
    expect(new Set(files.map((file) => file.toString("base64"))).size).toBe(prompts.length);
  });

  test.each<[string, Partial<PictureRequest>[]]>([
    [
      "model",
      ["vendor1/alpha-2", "vendor1/alpha-pro", "gamma-image-2", "z-image"].map((model) => ({ model })),
    ],
    ["task", ["task_1", "task_2", "task_3"].map((taskId) => ({ taskId }))],
    ["reference", ["", "a", "b"].map((references) => ({ references }))],
  ])("differs between one %s and another, plainly", async (_name, orders) => {
    for (const prompt of ["a lighthouse at dusk", "a bowl of ramen", "a cat, watercolor"]) {
      const pictures = await Promise.all(orders.map((spec) => pixelsOf(draw(prompt, spec))));
      for (const [i, one] of pictures.entries()) {
        for (const other of pictures.slice(i + 1)) expect(distance(one, other)).toBeGreaterThan(4);
      }
    }
  });

  test("of a subject that is not known differs from that of another", async () => {
    const prompts = ["a bowl of ramen", "machine learning", "freedom", "a unicorn", "blue music"];
    const pictures = await Promise.all(prompts.map((prompt) => pixelsOf(draw(prompt))));
    for (const [i, one] of pictures.entries()) {
      for (const other of pictures.slice(i + 1)) expect(distance(one, other)).toBeGreaterThan(12);
    }
  });

  test("of a subject that is not known is painted in the colours of the prompt", async () => {
    const green = await pixelsOf(draw("a green bicycle"));
    const red = await pixelsOf(draw("a red bicycle"));
    expect(average(green, 1) - average(green, 0)).toBeGreaterThan(average(red, 1) - average(red, 0) + 20);
  });

  test("differs between all images of one task", async () => {
    const files = await Promise.all(
      Array.from({ length: 15 }, (_, index) => draw("a cat", { width: 48, height: 48, index })),
    );
    expect(new Set(files.map((file) => file.toString("base64"))).size).toBe(15);
  });

  test("is darker at night than by day", async () => {
    const day = await pixelsOf(draw("mountains at noon"));
    const night = await pixelsOf(draw("mountains at midnight"));
    expect(average(night, 1)).toBeLessThan(average(day, 1) * 0.6);
  });

  test("is redder at sunset than by day", async () => {
    const day = await pixelsOf(draw("the sea at noon"));
    const dusk = await pixelsOf(draw("the sea at sunset"));
    expect(average(dusk, 0) - average(dusk, 2)).toBeGreaterThan(average(day, 0) - average(day, 2) + 30);
  });

  test.each([
    "a lighthouse, film noir",
    "a fox, black and white",
    "an owl, oil painting, b&w",
    "a boat, watercolor, monochrome",
    "a ramen bowl in black & white, poster",
    "a red city, pixel art, no color",
    "a sketch of a cat, grayscale",
  ])("of %j has no colour at all", async (prompt) => {
    const pixels = await pixelsOf(draw(prompt));
    const isGrey = (_: number, at: number) => pixels[at] === pixels[at - (at % 3)];
    expect(pixels.every(isGrey)).toBe(true);
  });

  test.each([
    ["nothing", ""],
    ["blanks", " \n\t "],
    ["emoji", "🦊🌊🏔️👩‍🚀"],
    ["half a surrogate pair", "\ud83d lighthouse \udc00"],
    ["control characters", "\u0000\u0007\u001b[31m\u007f\u202e"],
    ["20,000 characters", "lighthouse dusk oil ".repeat(1000)],
    ["another script", "日落时的灯塔"],
    ["names of object properties", "constructor __proto__ toString hasOwnProperty"],
  ])("can be drawn of %s", async (_name, prompt) => {
    expect((await pixelsOf(draw(prompt))).length).toBe(64 * 64 * 3);
  });
});

describe("drawing", () => {
  test("hands out the file in pieces", async () => {
    let pieces = 0;
    for await (const _ of drawPicture({ ...requestFor("sea"), width: 2048, height: 2048 })) pieces++;
    expect(pieces).toBeGreaterThan(4);
  });

  test.each(["mountains", LIGHTHOUSE])("of %j lets others have their turn between bands", async (prompt) => {
    let turns = 0;
    let done = false;
    const tick = () => {
      turns++;
      if (!done) setImmediate(tick);
    };
    setImmediate(tick);
    await draw(prompt, { width: 512, height: 384 });
    done = true;
    // Three bands of 65,536 pixels.
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  test("can be given up half way", async () => {
    let first: Buffer | undefined;
    for await (const piece of drawPicture({ ...requestFor("sea"), width: 2048, height: 2048 })) {
      first = piece;
      break;
    }
    expect(first?.toString("latin1", 1, 4)).toBe("PNG");
  });
});
