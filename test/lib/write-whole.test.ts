import fs from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createAtomically, randomDigits } from "../../src/lib/write-whole.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("draws eight hexadecimal digits, others every time", () => {
  const drawn = Array.from({ length: 2000 }, randomDigits);
  for (const digits of drawn) expect(digits).toMatch(/^[0-9a-f]{8}$/);
  // Of so few, hardly ever two are the same.
  expect(new Set(drawn).size).toBeGreaterThan(1990);
});

/** Makes `link` answer as file systems do that have none. */
function withoutHardLinks(): void {
  const { linkSync } = fs;
  const setTo = (link: typeof linkSync) => {
    fs.linkSync = link;
    syncBuiltinESMExports();
  };
  setTo(() => {
    throw Object.assign(new Error("no"), { code: "EPERM" });
  });
  onTestFinished(() => setTo(linkSync));
}

it("creates a file that those may read who may where there are hard links", async () => {
  const folder = await temporaryFolder();
  const [linked, copied] = [path.join(folder, "linked"), path.join(folder, "copied")];
  await createAtomically(linked, "text", 0o644);
  withoutHardLinks();
  expect(await createAtomically(copied, "text", 0o644)).toBe(true);
  expect(await readFile(copied, "utf8")).toBe("text");
  expect((await stat(copied)).mode).toBe((await stat(linked)).mode);
});
