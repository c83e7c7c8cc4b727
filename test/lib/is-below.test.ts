import path from "node:path";
import { describe, expect, it } from "vitest";
import { isBelow } from "../../src/lib/is-below.ts";

describe("whether a folder lies below another", () => {
  it.each([
    ["/pictures", true],
    ["/pictures/a/b", true],
    ["/pictures/..a", true],
    ["/", false],
    ["/other", false],
    ["/pictures2", false],
  ])("%s below /pictures: %s", (folder, below) => {
    expect(isBelow(folder, "/pictures", path.posix)).toBe(below);
  });

  it.each([
    ["C:\\pictures", true],
    ["c:\\Pictures\\a", true],
    ["C:\\other", false],
    ["D:\\", false],
    ["D:\\pictures\\a", false],
    ["\\\\server\\share\\pictures", false],
  ])("on Windows, %s below C:\\pictures: %s", (folder, below) => {
    expect(isBelow(folder, "C:\\pictures", path.win32)).toBe(below);
  });
});
