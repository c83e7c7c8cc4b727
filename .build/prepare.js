// Builds what `npm install` and `npm link` need, unless it is built: `node .build/prepare.js`.
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const SOURCES = [
  "src",
  ".build",
  "package.json",
  "package-lock.json",
  ".rolldown.config.js",
  ".tsconfig.types.json",
];
/** The build's first file and its last. */
const BUILT = ["dist/main.cjs", "dist/index.d.ts"];

function timesOf(name) {
  const file = path.join(root, name);
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined) return [0];
  return status.isDirectory()
    ? readdirSync(file).flatMap((each) => timesOf(path.join(name, each)))
    : [status.mtimeMs];
}

const newest = Math.max(...SOURCES.flatMap(timesOf));
const isBuilt = BUILT.flatMap(timesOf).every((time) => time > newest);
if (!isBuilt)
  // npm is a script on Windows. What it prints is not this program's output.
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
