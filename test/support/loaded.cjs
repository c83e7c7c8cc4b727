// Loaded into the built program with --require: at its end, writes what it has loaded (its files, and of Node) into the file IMGGEN_TEST_LOADED.
const fs = require("node:fs");
const path = require("node:path");

process.on("exit", () => {
  const files = Object.keys(require.cache).filter((file) => file.includes(`${path.sep}dist${path.sep}`));
  const builtins = process.moduleLoadList.map((entry) => entry.replace("NativeModule ", ""));
  fs.writeFileSync(process.env.IMGGEN_TEST_LOADED, JSON.stringify({ files, builtins }));
});
