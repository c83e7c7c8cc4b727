import { describe, expect, test } from "vitest";
import { type Brief, readBrief } from "../../src/painter/brief.ts";
import { createBrush } from "../../src/painter/brush.ts";
import { parseShapes } from "../../src/painter/drawing.ts";
import { SCENERY, SUBJECTS } from "../../src/painter/drawings.ts";
import { SETTINGS } from "../../src/painter/moods.ts";
import { composePicture } from "../../src/painter/scene.ts";
import { requestFor } from "./picture-spec.ts";

const briefFor = (prompt: string, width = 48, height = 48) =>
  readBrief({ ...requestFor(prompt), width, height });

/** All pixels, painted on a ground of this brightness. */
function paint(brief: Brief, ground = 0): Uint8Array {
  const pixels = new Uint8Array(brief.width * brief.height * 3).fill(ground);
  const paintRow = createBrush(composePicture(brief), brief.width);
  for (let y = 0; y < brief.height; y++)
    paintRow(y, pixels.subarray(y * brief.width * 3, (y + 1) * brief.width * 3));
  return pixels;
}

function differing(one: Uint8Array, other: Uint8Array, by: number): number {
  return one.filter((value, at) => Math.abs(value - (other[at] ?? 0)) > by).length;
}

/** How many numbers each command takes, or a multiple of. */
const NUMBERS: Readonly<Record<string, number>> = { M: 2, L: 2, C: 6, R: 4, O: 4 };

test("each line of a drawing names a colour and shapes, whose numbers are complete", () => {
  const lines = [...Object.values(SUBJECTS), ...Object.values(SCENERY)].flatMap((each) =>
    each.split("\n").slice(1),
  );
  for (const line of lines) {
    expect(line).toMatch(/^\w+[-+]*!?(?:\/\d+)?=?\s+[MRO]/);
    const [, shapes = ""] = line.split(/\s+(.+)/);
    for (const [, command = "", numbers = ""] of shapes.matchAll(/([A-Z])([^A-Z]*)/g)) {
      const count = numbers.trim().split(/\s+/).length;
      expect([line, command, count % (NUMBERS[command] ?? 0)]).toEqual([line, command, 0]);
    }
    expect(parseShapes(shapes).flat(2).every(Number.isFinite)).toBe(true);
  }
});

describe.each(Object.keys(SETTINGS) as (keyof typeof SETTINGS)[])("the setting %s", (setting) => {
  const sizes = [
    [32, 32],
    [16, 80],
    [80, 16],
  ] as const;
  const briefs = sizes.map((size) => ({ ...briefFor("noon", ...size), setting }));

  test("covers every pixel", () => {
    for (const brief of briefs) expect(differing(paint(brief, 0), paint(brief, 255), 0)).toBe(0);
  });

  test.each(Object.keys(SUBJECTS))("has a %s that is seen at every ratio", (name) => {
    for (const brief of briefs) {
      const { subject } = briefFor(name, brief.width, brief.height);
      const changed = differing(paint({ ...brief, subject }), paint(brief), 8);
      expect(changed).toBeGreaterThan(Math.min(brief.width, brief.height));
    }
  });
});

test("a fox in the snow has snow on the ground, and none where the prompt rules it out", () => {
  const whites = (prompt: string) => {
    const pixels = [...paint({ ...briefFor(prompt, 96, 96), setting: "meadow" })].slice(60 * 96 * 3);
    return pixels.filter((_, at) => at % 3 === 0 && Math.min(...pixels.slice(at, at + 3)) > 150).length;
  };
  expect(whites("a fox in the snow at noon")).toBeGreaterThan(2 * whites("a fox at noon, no snow"));
});

test.each([
  ["a meadow at noon", "no clouds"],
  ["a meadow at noon", "no sun"],
  ["a meadow at noon", "no flowers"],
  ["a forest at noon", "without trees"],
  ["the sea at night", "no moon"],
  ["the sea at night", "starless"],
])("%s: what %j rules out is not painted", (prompt, exclusion) => {
  const brief = briefFor(prompt);
  const difference = (other: string) =>
    differing(paint({ ...brief, excluded: briefFor(other).excluded }), paint(brief), 2);
  expect(difference(exclusion)).toBeGreaterThan(20);
  expect(difference("no elephants")).toBe(0);
});

describe("a card", () => {
  const cardFor = (prompt: string) => ({ ...briefFor("noon", 96, 96), prompt, isCard: true });

  test("has the words of the prompt", () => {
    const blank = paint(cardFor(""));
    expect(differing(paint(cardFor("a tiger")), blank, 60)).toBeGreaterThan(300);
    expect(differing(paint(cardFor("un café")), paint(cardFor("un cafe")), 0)).toBe(0);
    expect(differing(paint(cardFor("a tiger")), paint(cardFor("a toger")), 60)).toBeGreaterThan(10);
  });

  test.each(["日落时的灯塔", "лиса", "a fox 狐"])(
    "of %j, whose letters the font lacks, has none",
    (prompt) => {
      expect(differing(paint(cardFor(prompt)), paint(cardFor("")), 0)).toBe(0);
    },
  );
});
