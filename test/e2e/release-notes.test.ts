import { execFile } from "node:child_process";
import { cp, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SCRIPT = path.resolve(import.meta.dirname, "../../.ci/release-notes.js");
const run = promisify(execFile);

/** A clone of this version, with this change log. */
async function notesOf({ tag, log }: { tag: string; log: string }): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of [".ci", ".github"]) await mkdir(path.join(folder, name));
  await cp(SCRIPT, path.join(folder, ".ci/release-notes.js"));
  await writeFile(path.join(folder, "package.json"), '{ "type": "module", "version": "1.2.0" }');
  await writeFile(path.join(folder, ".github/CHANGELOG.md"), log);
  const { stdout } = await run(process.execPath, [path.join(folder, ".ci/release-notes.js"), tag]);
  return stdout;
}

const LOG = "# Changes\n\n## Unreleased\n\n## 1.2.0\n\nNew:\n\n- a fox\n\n## 1.2.0-beta.1\n\nOld.\n";

it("a release's notes are its section of the change log", async () => {
  expect(await notesOf({ tag: "v1.2.0", log: LOG })).toBe("New:\n\n- a fox\n");
});

it.each([
  ["a tag that is not the package's version", "v1.3.0", LOG, "is not the version in package.json, 1.2.0"],
  [
    "a log without the section",
    "v1.2.0",
    "# Changes\n\n## Unreleased\n\nA fox\n",
    'has no section "## 1.2.0"',
  ],
  [
    "a section without a word",
    "v1.2.0",
    "# Changes\n\n## 1.2.0\n\n## 1.1.0\n\nOld.\n",
    'has no section "## 1.2.0"',
  ],
])("%s stops the release", async (_what, tag, log, message) => {
  await expect(notesOf({ tag, log })).rejects.toThrow(message);
});
