import { mkdir, realpath, symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalFolder, isBelow } from "../../src/lib/real-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("a folder's real address", () => {
  it("is the same by every link that leads there, whether it is there yet or not", async () => {
    const root = await realpath(await temporaryFolder());
    await mkdir(path.join(root, "out"));
    await symlink("out", path.join(root, "link"));
    expect(await canonicalFolder(path.join(root, "link"))).toBe(path.join(root, "out"));
    expect(await canonicalFolder(path.join(root, "link", "a", "b"))).toBe(path.join(root, "out", "a", "b"));
    expect(await canonicalFolder("/no/such/folder")).toBe("/no/such/folder");
  });

  it("is what can be made out of a link that leads nowhere, or round in circles", async () => {
    const root = await realpath(await temporaryFolder());
    const [nowhere, circle] = [path.join(root, "nowhere"), path.join(root, "circle")];
    await symlink("missing", nowhere);
    await symlink("circle", circle);
    expect(await canonicalFolder(nowhere)).toBe(nowhere);
    expect(await canonicalFolder(circle)).toBe(circle);
  });
});

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
