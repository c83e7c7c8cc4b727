import { afterAll, describe, it } from "vitest";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT } from "./build-mutant.ts";
import { LEDGER_MUTANTS } from "./mutants-ledger.ts";
import { SAVING_MUTANTS } from "./mutants-saving.ts";
import { SUBMITTING_MUTANTS } from "./mutants-submitting.ts";
import { expectCaught } from "./report.ts";
import { tryMutant } from "./try-mutant.ts";
import { tryPoint } from "./try-point.ts";

// What the crash tests are worth: bugs planted in the program, one at a time, must be caught. Every second one;
// `npm run crash` tries them all, those of `batch` too.
const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };
const mutants = [LEDGER_MUTANTS, SUBMITTING_MUTANTS, SAVING_MUTANTS].flatMap((group) =>
  group.filter((_, at) => at % 2 === 0),
);

afterAll(() => program.recovery.close());

describe.concurrent("a planted bug is caught, and the program without it passes the same case", () => {
  it.for(mutants)("$bug", { timeout: 60_000 }, async (mutant) => {
    expectCaught(await tryMutant(mutant, program, tryPoint));
  });
});
