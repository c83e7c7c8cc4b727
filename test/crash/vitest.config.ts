import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// For `npm run crash`: everything, which takes the better part of an hour.
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["test/crash/*.test.ts", "test/crash/everything*.ts"],
    globalSetup: [fileURLToPath(new URL("../support/tally-told.ts", import.meta.url))],
    testTimeout: 4 * 3_600_000,
    fileParallelism: false,
  },
});
