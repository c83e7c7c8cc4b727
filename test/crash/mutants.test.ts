import { afterAll, describe, it } from "vitest";
import { everyNth, isLongRun } from "../support/holds.ts";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT } from "./build-mutant.ts";
import { BATCH_MUTANTS } from "./mutants-batch.ts";
import { GENERATOR_MUTANTS } from "./mutants-generator.ts";
import { LEDGER_MUTANTS } from "./mutants-ledger.ts";
import { SAVING_MUTANTS } from "./mutants-saving.ts";
import { SUBMITTING_MUTANTS } from "./mutants-submitting.ts";
import { expectCaught } from "./report.ts";
import { tryBatchPoint } from "./try-batch.ts";
import { tryMutant } from "./try-mutant.ts";
import { tryPoint } from "./try-point.ts";

// What the crash tests are worth: bugs planted in the program, one at a time, must be caught. One of each list, and every
// fifth before a generator; `npm run crash` tries them all, those of `batch` too.
const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const mutants = [
  ...[LEDGER_MUTANTS, SUBMITTING_MUTANTS, SAVING_MUTANTS].flatMap((group) => everyNth(group, group.length)),
  ...everyNth(GENERATOR_MUTANTS, 5),
];
const timeout = 300_000;

afterAll(() => program.recovery.close());

describe.concurrent("a planted bug is caught, and the program without it passes the same case", () => {
  it.for(mutants)("$bug", { timeout }, async (mutant) => {
    expectCaught(await tryMutant(mutant, program, tryPoint));
  });

  it.runIf(isLongRun).for(BATCH_MUTANTS)("in a batch: $bug", { timeout }, async (mutant) => {
    expectCaught(await tryMutant(mutant, program, tryBatchPoint));
  });
});
