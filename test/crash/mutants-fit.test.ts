import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { BUILT } from "./build-mutant.ts";
import { edited } from "./mutant.ts";
import { BATCH_MUTANTS } from "./mutants-batch.ts";
import { GENERATOR_MUTANTS } from "./mutants-generator.ts";
import { LEDGER_MUTANTS } from "./mutants-ledger.ts";
import { SAVING_MUTANTS } from "./mutants-saving.ts";
import { SUBMITTING_MUTANTS } from "./mutants-submitting.ts";

const SRC = path.join(BUILT, "src");
const CODES = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(path.join(SRC, name), "utf8"));

// Many are tried by `npm run crash` alone; that they can be planted is known sooner.
it.for([...LEDGER_MUTANTS, ...SUBMITTING_MUTANTS, ...SAVING_MUTANTS, ...BATCH_MUTANTS, ...GENERATOR_MUTANTS])(
  "there is a place, and one only, for this bug: $bug",
  ({ edits }) => {
    for (const edit of edits) {
      const places = CODES.reduce((sum, code) => sum + edited(code, edit).places, 0);
      expect(places, edit.find).toBe(1);
    }
  },
);

it("a bug's place is found however the code is indented and broken into lines", () => {
  const code = "if (x) {\n  await write(\n    { type: 'a' },\n    id,\n  );\n}\n";
  const done = edited(code, { find: "await write({ type: 'a' }, id);\n", replace: "" });
  expect(done).toEqual({ code: "if (x) {\n  \n}\n", places: 1 });
  expect(edited(code, { find: "await rewrite", replace: "" })).toEqual({ code, places: 0 });
  expect(edited(code, { find: "{", replace: "[" }).places).toBe(2);
});
