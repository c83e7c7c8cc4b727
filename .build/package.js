// Packs what is built as it is published: `node .build/package.js [folder]`, which prints the path of the
// tarball, imggen.tgz.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** What only a clone needs. `private` is there so that nobody publishes the clone. */
const OF_THE_CLONE = ["private", "scripts", "devDependencies", "knip", "files", "allowScripts"];

const root = path.resolve(import.meta.dirname, "..");
const [destination = path.join(root, "dist/release")] = process.argv.slice(2);
mkdirSync(destination, { recursive: true });
const staged = mkdtempSync(path.join(tmpdir(), "imggen-package-"));
try {
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const published = Object.entries(manifest).filter(([field]) => !OF_THE_CLONE.includes(field));
  writeFileSync(
    path.join(staged, "package.json"),
    `${JSON.stringify(Object.fromEntries(published), null, 2)}\n`,
  );
  const isPublished = (file) => file !== path.join(root, "dist/release");
  for (const name of ["README.md", "LICENSE", ...manifest.files.filter((each) => !each.startsWith("!"))])
    cpSync(path.join(root, name), path.join(staged, name), { recursive: true, filter: isPublished });
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", path.resolve(destination)];
  const options = { cwd: staged, encoding: "utf8", shell: process.platform === "win32" };
  const [{ filename }] = JSON.parse(execFileSync("npm", pack, options));
  const tarball = path.join(destination, "imggen.tgz");
  renameSync(path.join(destination, filename), tarball);
  process.stdout.write(`${tarball}\n`);
} finally {
  rmSync(staged, { recursive: true });
}
