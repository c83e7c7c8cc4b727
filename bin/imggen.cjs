#!/usr/bin/env node
const { existsSync } = require("node:fs");
const path = require("node:path");

const { main } = program();

// If nothing is left to do before main() has resolved, that is a failure.
process.exitCode = 1;

main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});

/** The built program. A clone has none before its first build, and only a part of it while one runs. */
function program() {
  try {
    return require("../dist/main.cjs");
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND" && !(error instanceof SyntaxError)) throw error;
    const root = path.join(__dirname, "..");
    const next = existsSync(path.join(root, "src"))
      ? `If no build runs, run: npm install --prefix "${root}"`
      : "Install it again: npm install --global imggen";
    process.stderr.write(
      `error: imggen is not built, or not whole: ${error.message.split("\n")[0]}\n  ${next}\n`,
    );
    process.exit(1);
  }
}
