import { afterAll, describe, it } from "vitest";
import { isLongRun } from "../support/holds.ts";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT } from "./build-mutant.ts";
import {
  COMFYUI,
  FORGETFUL,
  generatorPoints,
  ONE_IMAGE,
  TWO_IMAGES,
  tryGenerator,
  tryOnAnotherHost,
  tryStruckResumes,
  WITH_ID,
} from "./judge-generator.ts";
import { EVERY_KILL, type Modes } from "./points.ts";
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

describe("wherever a generate was stopped", () => {
  it.each([ONE_IMAGE, TWO_IMAGES, WITH_ID, COMFYUI, FORGETFUL])(
    "a generator gets one request for an image, and what is paid for is saved or reported: $name",
    { timeout: isLongRun ? 3_600_000 : 300_000 },
    async (scenario) => {
      const outcomes = await tryGenerator(scenario, isLongRun ? EVERY_FAILURE : EVERY_KILL, program);
      expectSound(`a ${scenario.name}, stopped once`, outcomes);
    },
  );
});

/** Where a task is left open, by how far its paid request was. */
const LEFT = [
  ["before its request", /^kill-after at operation \d+, write [^.]*-[0-9a-f]{8}\.jsonl$/],
  ["on its way", /^kill at body$/],
  ["with its reply on the disk", / close reply$/],
] as const;

describe.each(LEFT)("a paid request that was left %s", (_where, at) => {
  const left = async () => {
    const point = (await generatorPoints(ONE_IMAGE, EVERY_KILL, program)).find(({ name }) => at.test(name));
    if (point === undefined) throw new Error(`no point ${at}`);
    return point;
  };
  const timeout = isLongRun ? 3_600_000 : 300_000;

  it("is sent once, and saved or reported, when the resume crashes as well", { timeout }, async () => {
    const outcomes = await tryStruckResumes(ONE_IMAGE, await left(), program);
    expectSound("struck resumes", outcomes);
  });

  it("by a process of another host is left alone until its time is up", { timeout }, async () => {
    expectSound("another host", [await tryOnAnotherHost(ONE_IMAGE, await left(), program)]);
  });
});
