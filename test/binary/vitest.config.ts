import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { DEFINE } from "../support/release.ts";

const name = process.platform === "win32" ? "imggen.exe" : "imggen";

// For the single executable that `npm run build:binary` has made: its own tests, and the fault tests against it.
export default defineConfig({
  define: DEFINE,
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["test/{binary,faults}/**/*.test.ts"],
    env: {
      IMGGEN_BINARY: fileURLToPath(new URL(`../../dist/release/${name}`, import.meta.url)),
      IMGGEN_TEST_SHARE: "0.1",
    },
    globalSetup: [fileURLToPath(new URL("../support/print-counts.ts", import.meta.url))],
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    hookTimeout: 60_000,
    maxWorkers: 4,
    isolate: false,
  },
});
