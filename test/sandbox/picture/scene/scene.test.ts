import { describe, expect, test } from "vitest";
import type { Brief } from "../../../../src/sandbox/picture/brief/brief.ts";
import { readBrief } from "../../../../src/sandbox/picture/brief/brief.ts";
import { blankRow, paintLayers } from "../../../../src/sandbox/picture/canvas/layer.ts";
import { composeScene } from "../../../../src/sandbox/picture/scene/scene.ts";
import { SETTINGS, type SettingName } from "../../../../src/sandbox/picture/setting/settings.ts";
import { SUBJECTS, type SubjectName } from "../../../../src/sandbox/picture/subject/subjects.ts";

const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
const SUBJECT_NAMES = Object.keys(SUBJECTS) as SubjectName[];

function paint(brief: Brief, width: number, height: number): Float32Array[] {
  const { layers } = composeScene(brief, width, height);
  const row = blankRow(width);
  return Array.from({ length: height }, (_, y) => {
    paintLayers(layers, row, y);
    return row.pixels.slice();
  });
}

describe.each(SETTING_NAMES)("the setting %s", (setting) => {
  const brief = (subject: SubjectName | undefined): Brief => ({ ...readBrief("night", 3), setting, subject });

  test.each([undefined, ...SUBJECT_NAMES])("fills every pixel with a real colour around: %s", (subject) => {
    const values = paint(brief(subject), 40, 30).flatMap((row) => [...row]);
    expect(values.every(Number.isFinite)).toBe(true);
    expect(new Set(values.map(Math.round)).size).toBeGreaterThan(6);
  });

  test("looks the same whatever order its rows are painted in", () => {
    const { layers } = composeScene(brief("cat"), 40, 30);
    const forwards = paint(brief("cat"), 40, 30);
    const row = blankRow(40);
    for (let y = 29; y >= 0; y--) {
      paintLayers(layers, row, y);
      expect(row.pixels).toEqual(forwards[y]);
    }
  });
});

test.each(SUBJECT_NAMES)("a %s is seen at every ratio", (subject) => {
  for (const [width, height] of [
    [96, 96],
    [32, 256],
    [256, 32],
    [160, 90],
  ] as const) {
    const with_ = paint({ ...readBrief("noon", 1), setting: "space", subject }, width, height);
    const without = paint({ ...readBrief("noon", 1), setting: "space", subject: undefined }, width, height);
    const changed = with_.filter((row, y) =>
      row.some((value, i) => Math.abs(value - (without[y]?.[i] ?? 0)) > 8),
    );
    expect(changed.length).toBeGreaterThan(Math.min(width, height) / 8);
  }
});
