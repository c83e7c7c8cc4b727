import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    include: ["test/**/*.test.ts"],
    globalSetup: [fileURLToPath(new URL("support/tally-told.ts", import.meta.url))],
    testTimeout: 30_000,
    // Many tests wait for a program they started, so one more than the cores of a small machine is not too many.
    maxWorkers: 3,
    reporters: process.env.CI ? ["default", ["json", { outputFile: "coverage/results.json" }]] : ["default"],
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text-summary"] },
  },
});
