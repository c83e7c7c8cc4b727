import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs the first example of a page, in a folder of its own. */
async function runExample(page: string): Promise<{ lines: string[]; pictures: string[] }> {
  const folder = await temporaryFolder();
  const text = await readFile(path.join(ROOT, page), "utf8");
  await writeFile(path.join(folder, "example.mjs"), /```js\n([\s\S]*?)```/.exec(text)?.[1] ?? "");
  await mkdir(path.join(folder, "node_modules"));
  await symlink(ROOT, path.join(folder, "node_modules/imggen"), "dir");
  const env = { PATH: process.env.PATH, IMGGEN_HOME: path.join(folder, "home") };
  const options = { cwd: folder, env };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["example.mjs"], options);
  expect(stderr).toBe("");
  const pictures = (await readdir(path.join(folder, "pictures"))).filter((name) => name.endsWith(".png"));
  return { lines: stdout.trim().split("\n"), pictures };
}

it("README's example of the library saves an image", async () => {
  const { lines, pictures } = await runExample("README.md");
  expect(pictures).toEqual([path.basename(lines[0] ?? "")]);
});

it("the library page's example does what it says", async () => {
  const { lines, pictures } = await runExample(".github/docs/library.md");
  const [image = "", first, second, saved] = lines;
  expect(image).toMatch(/a-red-fox-.*\.png 0$/);
  expect([first, second].map((line) => line?.slice(0, 2)).sort()).toEqual(["1 ", "2 "]);
  expect(saved).toBe("2");
  expect(pictures).toHaveLength(3);
});
