#!/usr/bin/env node
// Node 22.1 and later keep compiled code between runs; older ones simply lack the function.
require("node:module").enableCompileCache?.();

const { main } = require("../dist/main.cjs");

main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
