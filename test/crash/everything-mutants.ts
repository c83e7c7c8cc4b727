import { afterAll, describe, it } from "vitest";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT } from "./build-mutant.ts";
import { BATCH_MUTANTS } from "./mutants-batch.ts";
import { LEDGER_MUTANTS } from "./mutants-ledger.ts";
import { SAVING_MUTANTS } from "./mutants-saving.ts";
import { SUBMITTING_MUTANTS } from "./mutants-submitting.ts";
import { expectCaught } from "./report.ts";
import { tryBatchPoint } from "./try-batch.ts";
import { tryMutant } from "./try-mutant.ts";
import { tryPoint } from "./try-point.ts";

const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const timeout = 180_000;

afterAll(() => program.recovery.close());

describe.concurrent("every planted bug is caught, and the program without it passes the same case", () => {
  it.for([...LEDGER_MUTANTS, ...SUBMITTING_MUTANTS, ...SAVING_MUTANTS])(
    "$bug",
    { timeout },
    async (mutant) => {
      expectCaught(await tryMutant(mutant, program, tryPoint));
    },
  );

  it.for(BATCH_MUTANTS)("in a batch: $bug", { timeout }, async (mutant) => {
    expectCaught(await tryMutant(mutant, program, tryBatchPoint));
  });
});
