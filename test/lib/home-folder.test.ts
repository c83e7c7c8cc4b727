import path from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { splitProgramCommand } from "../../src/lib/command-line.ts";
import { expandHome, NoHomeError } from "../../src/lib/home-folder.ts";

function atHome(folder: string): void {
  vi.stubEnv("HOME", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
}

it.each([
  ["~", "/home/ada/"],
  ["~/", "/home/ada/"],
  ["~/pictures/", "/home/ada/pictures/"],
  ["~/a\nb", "/home/ada/a\nb"],
  ["~ada/x", "~ada/x"],
  ["./~/x", "./~/x"],
  ["/~/x", "/~/x"],
  ["x", "x"],
  ["", ""],
])("%j is below the home folder at its start alone: %j", (written, file) => {
  atHome("/home/ada");
  expect(expandHome(written)).toBe(file);
});

it("without a home folder it is nowhere", () => {
  atHome("relative");
  expect(() => expandHome("~/x")).toThrow(NoHomeError);
  expect(expandHome("x")).toBe("x");
});

it("a command's program may be below it, and its arguments stay as they are", () => {
  atHome(path.resolve("/home/ada"));
  expect(splitProgramCommand("~/bin/paint ~/x {output}")).toEqual(["/home/ada/bin/paint", "~/x", "{output}"]);
});
