import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ProgramHost } from "../support/program-host.ts";
import { BUILT, buildMutant } from "./build-mutant.ts";
import { generatorPoints, tryGeneratorPoint } from "./judge-generator.ts";
import { GENERATOR_MUTANTS } from "./mutants-generator.ts";
import { EVERY_KILL } from "./points.ts";

const sound = { folder: BUILT, recovery: new ProgramHost(BUILT) };

afterAll(() => sound.recovery.close());

describe.concurrent("before a paid generator, a planted bug is caught, and the program without it passes the same case", () => {
  it.for(GENERATOR_MUTANTS)("$bug", { timeout: 300_000 }, async ({ edits, at }) => {
    const folder = await mkdtemp(path.join(tmpdir(), "imggen-mutant-"));
    try {
      await buildMutant(edits, folder);
      const points = (await generatorPoints(EVERY_KILL, sound)).filter(({ name }) => at.test(name));
      const tried = await Promise.all(
        points.map((point) => tryGeneratorPoint(point, { folder, recovery: null })),
      );
      const caught = tried.findIndex(({ wrong }) => wrong.length > 0);
      expect(caught, "no case caught it").toBeGreaterThanOrEqual(0);
      const point = points[caught];
      expect(point && (await tryGeneratorPoint(point, sound)).wrong).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
