import { afterAll, it } from "vitest";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT } from "./build-mutant.ts";
import { tryGenerator } from "./judge-generator.ts";
import { EVERY_KILL } from "./points.ts";
import { expectSound } from "./report.ts";

const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };

afterAll(() => program.recovery.close());

it("a paid generator gets one request, and what arrived to its last byte is saved, wherever a generate was killed", {
  timeout: 300_000,
}, async () => {
  expectSound("a generate with a paid generator, killed once", await tryGenerator(EVERY_KILL, program));
});
