import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { BUILT } from "./build-mutant.ts";
import { findPlace } from "./find-place.ts";
import { BATCH_MUTANTS } from "./mutants-batch.ts";
import { LEDGER_MUTANTS } from "./mutants-ledger.ts";
import { SAVING_MUTANTS } from "./mutants-saving.ts";
import { SUBMITTING_MUTANTS } from "./mutants-submitting.ts";

// Many are tried by `npm run crash` alone; that they can be planted is known sooner.
it.for([...LEDGER_MUTANTS, ...SUBMITTING_MUTANTS, ...SAVING_MUTANTS, ...BATCH_MUTANTS])(
  "there is a place, and one only, for this bug: $bug",
  ({ edits }) => {
    for (const { file, find } of edits) {
      const code = readFileSync(path.join(BUILT, "src", file), "utf8");
      expect(() => findPlace(code, find), file).not.toThrow();
    }
  },
);

it("a bug's place is found however the code is indented and broken into lines", () => {
  const code = "if (x) {\n  await write(\n    { type: 'a' },\n    id,\n  );\n}\n";
  const { start, end } = findPlace(code, "await write({ type: 'a' }, id);\n");
  expect(code.slice(start, end)).toBe("await write(\n    { type: 'a' },\n    id,\n  );");
  expect(() => findPlace(code, "await rewrite")).toThrow("0 places");
  expect(() => findPlace(code, "{")).toThrow("2 places");
});
