import { expect, it } from "vitest";
import { hasSymbols } from "../../../src/cli/text/colors.ts";

it.each([
  [{ LANG: "en_GB.UTF-8" }, true],
  [{}, true],
  [{ LC_ALL: "C.UTF-8" }, true],
  [{ LC_ALL: "C", LANG: "en_GB.UTF-8" }, false],
  [{ LC_CTYPE: "POSIX", LANG: "en_GB.UTF-8" }, false],
  [{ LC_ALL: "", LANG: "C" }, false],
  [{ TERM: "dumb" }, false],
  [{ TERM: "linux" }, false],
])("with %j, whether symbols are shown is %s", (env, shown) => {
  expect(hasSymbols(env)).toBe(shown);
});
