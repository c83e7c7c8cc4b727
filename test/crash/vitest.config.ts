import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { DEFINE } from "../support/release.ts";

const seed = process.env.IMGGEN_CRASH_SEED ?? String(Math.floor(Math.random() * 2 ** 32));
console.log(`To draw the same again: IMGGEN_CRASH_SEED=${seed} npm run crash`);

// For `npm run crash`: everything, with new random choices each time. It takes the better part of an hour.
export default defineConfig({
  define: DEFINE,
  test: {
    env: { IMGGEN_CRASH_SEED: seed },
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: [
      "test/crash/*.test.ts",
      "test/crash/everything.ts",
      "test/properties/*.test.ts",
      "test/core/manifest/{output-name,read-manifest}.test.ts",
      "test/core/batch/shard.test.ts",
      "test/lib/utf8.test.ts",
    ],
    globalSetup: [fileURLToPath(new URL("../support/print-counts.ts", import.meta.url))],
    testTimeout: 4 * 3_600_000,
    fileParallelism: false,
  },
});
