import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { MUST_BE_SURVIVED } from "./must-be-survived.ts";
import { holdsTest, readFaults } from "./table.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FAULTS = readFaults(await readFile(path.join(ROOT, "README.md"), "utf8"));

describe("the README's table of faults", () => {
  it.each(Object.entries(MUST_BE_SURVIVED))("has a row for every fault of the area %s", (area, faults) => {
    const rows = FAULTS.filter((row) => row.area === area).map(({ fault }) => fault);
    expect(rows.toSorted()).toEqual(faults.toSorted());
  });

  it("says of every fault what is done, and names a test that its area's files hold", async () => {
    const without: string[] = [];
    for (const { fault, answer, test, files } of FAULTS) {
      const sources = await Promise.all(files.map((file) => readFile(path.join(ROOT, file), "utf8")));
      const isProven = answer !== "" && sources.some((source) => holdsTest(source, test));
      if (!isProven) without.push(`${fault}: ${test}`);
    }
    expect(without).toEqual([]);
  });

  it("leaves out no file of tests", async () => {
    const all = (await readdir(import.meta.dirname)).filter((name) => name.endsWith(".test.ts"));
    const named = new Set(FAULTS.flatMap(({ files }) => files).map((file) => path.basename(file)));
    expect([...named].toSorted()).toEqual(all.filter((name) => name !== "table.test.ts").toSorted());
  });
});

describe("a test's name", () => {
  const SOURCE = `
    it("plain", async () => {});
    it.each([["red", 3], ["blue", 4]])("%s is %i", (colour) => {});
    it.skip("left out", () => {});
    expect("no test", text);`;

  it.each(["plain", "red is 3", "blue is 4"])("is found in a file that holds it: %s", (name) => {
    expect(holdsTest(SOURCE, name)).toBe(true);
  });

  it.each(["plai", "plain and more", "green is 3", "red is 5", "left out", "no test"])(
    "is not found where it is not: %s",
    (name) => {
      expect(holdsTest(SOURCE, name)).toBe(false);
    },
  );
});
