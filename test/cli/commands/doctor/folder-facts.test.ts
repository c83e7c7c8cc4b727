import { chmod, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { bytesText, folderFacts, hasPermissions } from "../../../../src/client/machine-checks.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

describe("a folder", () => {
  it("that exists has a mode and free space", async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0o750);
    const place = await folderFacts(folder);
    expect(place).toMatchObject({
      exists: true,
      mode: process.platform === "win32" ? null : "0750",
      problem: null,
    });
    expect(place.freeBytes).toBeGreaterThan(0);
  });

  it("that does not exist is as its nearest parent is", async () => {
    const folder = path.join(await temporaryFolder(), "a", "b");
    expect(await folderFacts(folder)).toMatchObject({ exists: false, mode: null, problem: null });
  });

  it("that would be below a file, or is one, cannot be used", async () => {
    const file = path.join(await temporaryFolder(), "file");
    await writeFile(file, "");
    expect(await folderFacts(file)).toMatchObject({ problem: { code: "ENOTDIR" } });
    expect(await folderFacts(path.join(file, "below"))).toMatchObject({ problem: { code: "ENOTDIR" } });
  });

  it.skipIf(process.getuid?.() === 0)("without permission to write cannot be used", async () => {
    const folder = path.join(await temporaryFolder(), "closed");
    await mkdir(folder, { mode: 0o500 });
    expect(await folderFacts(path.join(folder, "below"))).toMatchObject({ problem: { code: "EACCES" } });
  });
});

it.each([
  [0, "0 bytes"],
  [1023, "1023 bytes"],
  [1024, "1 KiB"],
  [1536 * 1024, "1.5 MiB"],
  [74.9 * 1024 ** 3, "74 GiB"],
  [5000 * 1024 ** 4, "5000 TiB"],
])("%d bytes are %s: never more than there is", (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

it.each([
  [0o022, "0755", false],
  [0o022, "0770", true],
  [0o077, "0600", false],
  [0o077, null, false],
])("any bit of %o is in the mode %s: %s", (bits, mode, expected) => {
  expect(hasPermissions(bits, mode)).toBe(expected);
});
