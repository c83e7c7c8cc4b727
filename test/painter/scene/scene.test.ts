import { describe, expect, test } from "vitest";
import { blankRow, paintLayers } from "../../../src/painter/canvas/fill.ts";
import { SCENERY, SHAPES, SUBJECTS } from "../../../src/painter/data/drawings.ts";
import { composeScene } from "../../../src/painter/scene/scene.ts";
import { buildStage } from "../../../src/painter/scene/stage.ts";
import { type Brief, readBrief } from "../../../src/painter/words/brief.ts";
import { SETTING_WORDS } from "../../../src/painter/words/vocabulary.ts";
import { requestFor } from "../picture-spec.ts";

function paint(brief: Brief, width: number, height: number): number[] {
  const layers = composeScene(buildStage(brief, width, height));
  const row = blankRow(width);
  return Array.from({ length: height }, (_, y) => {
    paintLayers(layers, row, y);
    return [...row.pixels];
  }).flat();
}

const LINE = /^\w+[-+]*!?(\/\d+)?[=*]*\s+(-?[\d.]+( -?[\d.]+){2}|([MLCRO] ?-?[\d.]+( -?[\d.]+)* ?)+)$/;

test("every line of every drawing can be read", () => {
  const subjects = Object.values(SUBJECTS).map(({ drawing }) => drawing);
  const lines = [...subjects, ...Object.values(SCENERY), ...SHAPES].flatMap((text) =>
    text.trim().split("\n"),
  );
  expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
});

const SUBJECT_NAMES = Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[];

describe.each(Object.keys(SETTING_WORDS) as (keyof typeof SETTING_WORDS)[])("the setting %s", (setting) => {
  const brief = { ...readBrief(requestFor("noon")), setting };
  const sizes = [
    [32, 32],
    [16, 80],
    [80, 16],
  ] as const;
  const empty = sizes.map(([width, height]) => paint({ ...brief, subject: undefined }, width, height));

  test.each(SUBJECT_NAMES)("fills every pixel around a %s, which is seen at every ratio", (name) => {
    for (const [i, [width, height]] of sizes.entries()) {
      const pixels = paint({ ...brief, subject: SUBJECTS[name] }, width, height);
      expect(pixels.every(Number.isFinite)).toBe(true);
      const changed = pixels.filter((value, at) => Math.abs(value - (empty[i]?.[at] ?? 0)) > 8);
      expect(changed.length).toBeGreaterThan(Math.min(width, height));
    }
  });
});

test("a fox in the snow has snow on the ground, and none where the prompt rules it out", () => {
  const whites = (prompt: string) => {
    const pixels = paint({ ...readBrief(requestFor(prompt)), setting: "meadow" }, 96, 96).slice(60 * 96 * 3);
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
  const brief = readBrief(requestFor(prompt));
  const difference = (other: string) => {
    const without = paint({ ...brief, excluded: readBrief(requestFor(other)).excluded }, 48, 48);
    return paint(brief, 48, 48).filter((value, i) => Math.abs(value - (without[i] ?? 0)) > 2).length;
  };
  expect(difference(exclusion)).toBeGreaterThan(20);
  expect(difference("no elephants")).toBe(0);
});
