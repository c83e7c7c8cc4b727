import { defineConfig, mergeConfig } from "vitest/config";
import { MixedOrder } from "./support/mixed-order.ts";
import everything from "./vitest.config.ts";

/**
 * For `npm run test:unit` and `npm run test:watch`: the tests that mirror a folder of `src`, and the properties, with
 * a fiftieth of their generated cases. None of these starts imggen, which `test/tree.test.ts` checks.
 */
export default mergeConfig(
  everything,
  defineConfig({
    test: {
      // These tests wait for timers and sockets, so more workers than a small machine has cores are not too many.
      maxWorkers: 6,
      sequence: { sequencer: MixedOrder },
      // The memory for young objects has its full size at once: growing it takes a tenth of the processor time.
      execArgv: ["--min-semi-space-size=64"],
      exclude: ["test/{e2e,terminal,faults,crash,interop,bench}/**", "**/node_modules/**"],
      env: { IMGGEN_TEST_SHARE: "0.02" },
      // Compiled files are kept between runs, in node_modules: compiling takes a fifth of the time otherwise.
      experimental: { fsModuleCache: true },
    },
  }),
);
