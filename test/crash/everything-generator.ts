import { afterAll, it } from "vitest";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT } from "./build-mutant.ts";
import { tryGenerator } from "./judge-generator.ts";
import type { Modes } from "./points.ts";
import { expectSound } from "./report.ts";

/** Every failure of a disk; a power cut takes more than what this harness knows of folders that are renamed. */
const EVERY_FAILURE: Modes = {
  write: ["half-written", "kill-after", "short", "EIO", "ENOSPC"],
  create: ["kill-after", "EIO", "ENOSPC"],
  sync: ["kill-after", "EIO", "ENOSPC"],
  change: ["kill-after", "EIO"],
  read: ["kill-before", "EIO"],
};

const program = { folder: BUILT, recovery: new ProgramHost(BUILT) };

afterAll(() => program.recovery.close());

it("a generate with a paid generator, with every failure of the disk", async () => {
  expectSound("a paid generator and every failure of the disk", await tryGenerator(EVERY_FAILURE, program));
});
