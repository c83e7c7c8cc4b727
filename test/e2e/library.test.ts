import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

it("the README's example of the library does what it says", async () => {
  const folder = await temporaryFolder();
  const readme = await readFile(path.join(ROOT, "README.md"), "utf8");
  await writeFile(path.join(folder, "example.mjs"), /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "");
  await mkdir(path.join(folder, "node_modules"));
  await symlink(ROOT, path.join(folder, "node_modules/imggen"), "dir");
  const env = { PATH: process.env.PATH, IMGGEN_HOME: path.join(folder, "home") };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["example.mjs"], {
    cwd: folder,
    env,
  });
  expect(stderr).toBe("");
  const [image = "", first, second, saved] = stdout.trim().split("\n");
  expect(image).toMatch(/a-red-fox-.*\.png 4$/);
  expect([first, second].map((line) => line?.slice(0, 2)).sort()).toEqual(["1 ", "2 "]);
  expect(saved).toBe("2");
  const images = (await readdir(path.join(folder, "pictures"))).filter((name) => name.endsWith(".png"));
  expect(images).toHaveLength(3);
});
