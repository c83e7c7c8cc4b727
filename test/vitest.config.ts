import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { hasInterop } from "./support/interop.ts";
import { LongestFirst } from "./support/longest-first.ts";
import { NameRetried } from "./support/name-retried.ts";
import { DEFINE } from "./support/release.ts";

/**
 * Where tests decide whether a change lands, one that failed is tried again and named, because some wait for
 * terminals and processes of a machine that does other work. What failed with random choices would be hidden by others.
 */
const RETRY = { count: 1, condition: /^(?!Property failed|violations: )/ };

if (!hasInterop) console.info("Not run: test/interop. First: npm ci --prefix test/interop");

export default defineConfig({
  define: DEFINE,
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    include: ["test/**/*.test.ts"],
    // They test what takes minutes to build: `npm run check:binary`.
    exclude: ["**/node_modules/**", "test/binary/**", ...(hasInterop ? [] : ["test/interop/**"])],
    globalSetup: [fileURLToPath(new URL("support/print-counts.ts", import.meta.url))],
    // Most temporary folders are in memory: a sync of a disk takes milliseconds, and many tests do thousands.
    setupFiles: [fileURLToPath(new URL("support/memory-folder.ts", import.meta.url))],
    ...(process.env.CI && { retry: RETRY }),
    // A test takes ten times as long on a machine that is busy.
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    // Thousands of files are removed after some tests, which takes a busy machine a while.
    hookTimeout: 60_000,
    // Generated cases: a tenth of what `npm run crash` tries.
    env: { IMGGEN_TEST_SHARE: "0.1" },
    // Many tests wait for a program they started, so more workers than a small machine has cores are not too many.
    maxWorkers: 5,
    // No test replaces a module, so the files of a worker may share what it has loaded: half of a small test's time.
    isolate: false,
    // The garbage of thousands of tests is collected in fewer rounds: a tenth of their processor time.
    execArgv: ["--max-semi-space-size=64"],
    sequence: { sequencer: LongestFirst },
    // The gallery's style is a part of its page.
    css: true,
    reporters: process.env.CI
      ? ["default", new NameRetried(), ["json", { outputFile: "coverage/results.json" }]]
      : ["default"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text-summary"],
      // In percent, a point below what the tests reach, so that new code brings its tests. Programs that they start do
      // not count.
      thresholds: { lines: 93, statements: 92, functions: 92, branches: 87 },
    },
  },
});
