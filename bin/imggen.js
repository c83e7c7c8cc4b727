#!/usr/bin/env node
import module from "node:module";

// Node 22.1 and later keep compiled code between runs; older ones simply lack the function.
module.enableCompileCache?.();

const { main } = await import("../dist/main.js");
process.exitCode = await main(process.argv.slice(2));
