#!/usr/bin/env node
const { main } = require("../dist/main.cjs");

// Until the program has said how it ended, it has not ended well.
process.exitCode = 1;

main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
