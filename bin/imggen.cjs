#!/usr/bin/env node
const { main } = require("../dist/main.cjs");

// If nothing is left to do before main() has resolved, that is a failure.
process.exitCode = 1;

main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
