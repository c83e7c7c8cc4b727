import { expect, test } from "vitest";
import { readSubject } from "../../../src/painter/data/subject.ts";
import { SUBJECTS } from "../../../src/painter/data/subjects.ts";
import { PLANTS, PROPS } from "../../../src/painter/data/surroundings.ts";

const HEX = /^[0-9a-f]{6}$/;
const LINE =
  /^(\d )?\w+[-+]*!?(\/\d+)?[=~>*]*\s+(-?[\d.]+( -?[\d.]+){2}|([MLCQROSB] ?-?[\d.]+( -?[\d.]+)* ?)+)$/;

const subjects = Object.entries(SUBJECTS).map(([name, text]) => [name, readSubject(text)] as const);

const drawings: (readonly [string, string])[] = [
  ...subjects.map(([name, { drawing }]) => [name, drawing] as const),
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

test.each(subjects)("%s has colours, a width and a home", (_, { colors, half, homes }) => {
  expect(half).toBeGreaterThan(10);
  expect(homes).not.toEqual([]);
  expect(colors.flatMap(([, ...choice]) => choice).filter((digits) => !HEX.test(digits))).toEqual([]);
});
