// Compiles the executable's files ahead of time: `node code-cache.cjs <folder> <file>…`, with the Node.js that it is made
// of, because no other takes the result.
const { readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { Script } = require("node:vm");

const [folder = "", ...files] = process.argv.slice(2);
for (const file of files) {
  const target = path.join(folder, file);
  const script = new Script(readFileSync(target, "utf8"), { filename: file });
  writeFileSync(`${target}.cache`, script.createCachedData());
}
