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
/**
 * A clone is installed to run the program, and the types take most of a build's time. npm installs a dependency from git
 * in a clone of its own, which this variable tells apart.
 */
const isClone = /^(?:install|ci|link)$/.test(process.env.npm_command) && !process.env._PACOTE_NO_PREPARE_;
const script = isClone ? "build:program" : "build";
/** The build's first file and its last. */
const BUILT = ["dist/main.cjs", ...(isClone ? [] : ["dist/index.d.ts"])];

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
if (!isBuilt) {
  process.stderr.write("Building imggen: about ten seconds, once.\n");
  // npm is a script on Windows. Its output is not that of the program that is being installed.
  execFileSync("npm", ["run", "--silent", script], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
}
