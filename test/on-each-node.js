// Runs tests on each Node.js that imggen supports, from npm's package of it: `node test/on-each-node.js <test files>`.
import { execFileSync } from "node:child_process";
import { nodePackage } from "../.build/node-package.js";

for (const major of [20, 22, 24, 26]) {
  console.log(`Node.js ${major}`);
  const node = ["exec", "--yes", `--package=${nodePackage(major)}`, "--", "node"];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
  execFileSync("npm", [...node, ...vitest, ...process.argv.slice(2)], { stdio: "inherit" });
}
