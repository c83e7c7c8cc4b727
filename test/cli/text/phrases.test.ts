import path from "node:path";
import { expect, it } from "vitest";
import { shortPath } from "../../../src/cli/text/phrases.ts";

const from = (folder: string) => ({ resolvePath: (file: string) => path.resolve(folder, file) });

it("a path is relative to the working folder where that is shorter, and absolute elsewhere", () => {
  expect(shortPath("/home/ada/foxes/red.png", from("/home/ada"))).toBe(path.join("foxes", "red.png"));
  expect(shortPath("/tmp/red.png", from("/home/ada/work/project"))).toBe("/tmp/red.png");
});

it("a path stays whole where the working folder is gone", () => {
  const gone = { resolvePath: () => expect.unreachable() };
  expect(shortPath("/tmp/red.png", gone)).toBe("/tmp/red.png");
});
