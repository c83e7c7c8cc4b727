import { describe, expect, test } from "vitest";
import { blankRow, paintLayers } from "../../../src/painter/canvas/layer.ts";
import { SCENERIES, type SceneryName } from "../../../src/painter/data/scenery.ts";
import { readSubject } from "../../../src/painter/data/subject.ts";
import { SUBJECTS, type SubjectName } from "../../../src/painter/data/subjects.ts";
import { composeScene } from "../../../src/painter/scene/compose.ts";
import { type Brief, readBrief } from "../../../src/painter/words/brief.ts";
import { orderFor } from "../picture-spec.ts";

const SETTING_NAMES = Object.keys(SCENERIES) as SceneryName[];
const SUBJECT_NAMES = Object.keys(SUBJECTS) as SubjectName[];

function paint(brief: Brief, width: number, height: number): Float32Array[] {
  const { layers } = composeScene(brief, width, height);
  const row = blankRow(width);
  return Array.from({ length: height }, (_, y) => {
    paintLayers(layers, row, y);
    return row.pixels.slice();
  });
}

const briefFor = (prompt: string, setting: SceneryName, subject: SubjectName | undefined): Brief => ({
  ...readBrief(orderFor(prompt)),
  setting,
  subject: subject && readSubject(SUBJECTS[subject]),
});

describe.each(SETTING_NAMES)("the setting %s", (setting) => {
  test.each([undefined, ...SUBJECT_NAMES])("fills every pixel with a real colour around: %s", (subject) => {
    const rows = paint(briefFor("night", setting, subject), 16, 12);
    expect(rows.every((row) => row.every(Number.isFinite))).toBe(true);
    expect(new Set(rows.flatMap((row) => [...row.map(Math.round)])).size).toBeGreaterThan(6);
  });
});

const EMPTY_SCENES = (
  [
    [32, 32],
    [16, 80],
    [80, 16],
    [48, 27],
  ] as const
).map(([width, height]) => ({
  width,
  height,
  without: paint(briefFor("noon", "space", undefined), width, height),
}));

test.each(SUBJECT_NAMES)("a %s is seen at every ratio", (subject) => {
  for (const { width, height, without } of EMPTY_SCENES) {
    const with_ = paint(briefFor("noon", "space", subject), width, height);
    const changed = with_.filter((row, y) =>
      row.some((value, i) => Math.abs(value - (without[y]?.[i] ?? 0)) > 8),
    );
    expect(changed.length).toBeGreaterThan(Math.min(width, height) / 8);
  }
});

/** How many pixels of a picture are as bright as snow. */
function whites(prompt: string): number {
  const brief = readBrief(orderFor(prompt));
  return paint({ ...brief, setting: "meadow" }, 96, 96)
    .slice(60)
    .flatMap((row) => Array.from({ length: 96 }, (_, x) => row.slice(x * 3, x * 3 + 3)))
    .filter((color) => Math.min(...color) > 150).length;
}

test("a fox in the snow has snow on the ground, and none where the prompt rules it out", () => {
  expect(whites("a fox in the snow at noon")).toBeGreaterThan(500);
  expect(whites("a fox at noon, no snow")).toBeLessThan(500);
});

/** How many values of the picture differ between two prompts that are the same otherwise. */
function difference(prompt: string, other: string): number {
  const one = readBrief(orderFor(prompt));
  const two = { ...one, excluded: readBrief(orderFor(other)).excluded };
  const [a, b] = [one, two].map((brief) => paint(brief, 48, 48).flatMap((row) => [...row]));
  return (a ?? []).filter((value, i) => Math.abs(value - (b?.[i] ?? 0)) > 2).length;
}

test.each([
  ["a meadow at noon", "no clouds"],
  ["a meadow at noon", "no sun"],
  ["a meadow at noon", "no flowers"],
  ["a forest at noon", "without trees"],
  ["the sea at night", "no moon"],
  ["the sea at night", "starless"],
  ["a desert at noon", "no cactus"],
])("%s: what %j rules out is not painted", (prompt, exclusion) => {
  expect(difference(prompt, exclusion)).toBeGreaterThan(20);
  expect(difference(prompt, "no elephants")).toBe(0);
});
