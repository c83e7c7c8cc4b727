import { defineConfig, mergeConfig } from "vitest/config";
import everything from "./vitest.config.ts";

/**
 * For `npm run test:unit` and `npm run test:watch`: the tests that mirror a folder of `src`, and the properties, with
 * a fiftieth of their generated cases. None of these starts imggen, which `test/tree.test.ts` checks.
 */
export default mergeConfig(
  everything,
  defineConfig({
    test: {
      exclude: ["test/{e2e,terminal,faults,crash,bench}/**", "**/node_modules/**"],
      env: { IMGGEN_TEST_SHARE: "0.02" },
      // Compiled files are kept between runs, in node_modules: compiling takes a fifth of the time otherwise.
      experimental: { fsModuleCache: true },
    },
  }),
);
