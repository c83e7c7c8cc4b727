import { afterAll, describe, expect, it } from "vitest";
import { BUILT } from "./build-mutant.ts";
import { BATCH_MUTANTS } from "./mutants-batch.ts";
import { Recovery } from "./recovery.ts";
import { tryBatchPoint } from "./try-batch.ts";
import { tryMutant } from "./try-mutant.ts";

// What the crash tests of `batch` are worth: bugs planted in the program, one at a time, must be caught.
const program = { folder: BUILT, recovery: new Recovery(BUILT) };

afterAll(() => program.recovery.close());

describe.concurrent("a bug planted in the batch is caught, and the program without it passes the same case", () => {
  it.for(BATCH_MUTANTS)("$bug", { timeout: 180_000 }, async (mutant) => {
    const { caught, sound } = await tryMutant(mutant, program, tryBatchPoint);
    expect(caught?.wrong, "no case caught it").toBeDefined();
    expect(sound?.wrong).toEqual([]);
    console.log(`${mutant.bug}: caught by ${caught?.scenario}, ${caught?.point}: ${caught?.wrong[0]}`);
  });
});
