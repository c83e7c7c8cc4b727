// The first code of the single executable. It loads the rest of the program from the executable's assets, each file when it
// is needed: to compile all of it takes longer than the program itself.
const { getAsset, getRawAsset } = require("node:sea");
const { isBuiltin } = require("node:module");
const path = require("node:path");
const { Script } = require("node:vm");

// A path that no file can have, so that nothing beside the executable is taken for a part of it.
const ROOT = path.join(process.execPath, "dist");
const loaded = new Map();

/** A file of the program, by its path below `dist`. */
function load(name) {
  const before = loaded.get(name);
  if (before !== undefined) return before.exports;
  const module = { exports: {} };
  loaded.set(name, module);
  const file = path.join(ROOT, name);
  const script = new Script(getAsset(name, "utf8"), {
    filename: file,
    cachedData: Buffer.from(getRawAsset(`${name}.cache`)),
  });
  const folder = path.posix.dirname(name);
  const requireFrom = (wanted) =>
    wanted.startsWith(".") ? load(path.posix.join(folder, wanted)) : builtin(wanted);
  script.runInThisContext()(module.exports, requireFrom, module, file, path.dirname(file));
  return module.exports;
}

/** A part of Node.js. There is nothing else, because nothing is installed beside an executable. */
function builtin(name) {
  if (isBuiltin(name)) return require(name);
  throw Object.assign(new Error(`a single executable has no ${name}`), { code: "ERR_NOT_IN_EXECUTABLE" });
}

// As bin/imggen.cjs does.
process.exitCode = 1;
load("main.cjs")
  .main(process.argv.slice(2))
  .then((exitCode) => {
    process.exitCode = exitCode;
  });
