import { expect, test } from "vitest";
import { PLANTS } from "../../../../src/sandbox/picture/data/plants.ts";
import { PROPS } from "../../../../src/sandbox/picture/data/props.ts";
import { SUBJECTS } from "../../../../src/sandbox/picture/data/subjects.ts";

const HEX = /^[0-9a-f]{6}$/;
const LINE = /^\w+[-+]*!?(\/\d+)?[=~>*]*\s+(-?[\d.]+( -?[\d.]+){2}|([MLCQROSB] ?-?[\d.]+( -?[\d.]+)* ?)+)$/;

const drawings = [
  ...Object.entries(SUBJECTS).map(([name, { drawing }]) => [name, drawing] as const),
  ...Object.entries(PLANTS),
  ...Object.entries(PROPS),
];

test.each(drawings)("every line of the drawing of %s can be read", (_, drawing) => {
  const unread = drawing
    .trim()
    .split("\n")
    .filter((line) => !LINE.test(line));
  expect(unread).toEqual([]);
});

test.each(Object.entries(SUBJECTS))("every colour of %s is one", (_, { colors }) => {
  expect(colors.flatMap(([, ...choice]) => choice).filter((digits) => !HEX.test(digits))).toEqual([]);
});
