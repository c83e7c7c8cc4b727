import { afterAll, describe, expect, it } from "vitest";
import { BUILT } from "./build-mutant.ts";
import { BUYING_MUTANTS } from "./mutants-buying.ts";
import { LEDGER_MUTANTS } from "./mutants-ledger.ts";
import { SAVING_MUTANTS } from "./mutants-saving.ts";
import { Recovery } from "./recovery.ts";
import { tryMutant } from "./try-mutant.ts";
import { tryPoint } from "./try-point.ts";

// What the crash tests are worth: bugs planted in the program, one at a time, must be caught.
const program = { folder: BUILT, recovery: new Recovery(BUILT) };

afterAll(() => program.recovery.close());

describe.concurrent("a planted bug is caught, and the program without it passes the same case", () => {
  it.for([...LEDGER_MUTANTS, ...BUYING_MUTANTS, ...SAVING_MUTANTS])(
    "$bug",
    { timeout: 60_000 },
    async (mutant) => {
      const { caught, sound } = await tryMutant(mutant, program, tryPoint);
      expect(caught?.wrong, "no case caught it").toBeDefined();
      expect(sound?.wrong).toEqual([]);
      console.log(`${mutant.bug}: caught by ${caught?.scenario}, ${caught?.point}: ${caught?.wrong[0]}`);
    },
  );
});
