import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { BFL } from "../../support/doubles/bfl.ts";
import { FAL } from "../../support/doubles/fal.ts";
import { GEMINI } from "../../support/doubles/gemini.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { OPENAI, SDAPI } from "../../support/doubles/synchronous.ts";
import { generatorWorld } from "../../support/generator-world.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { tinyDisk } from "../../support/tiny-disk.ts";

const NO_MOUNT = "needs a disk of its own";
const KINDS = [OPENAI, SDAPI, GEMINI, REPLICATE, FAL, BFL];

test.for(KINDS.map((form) => [form.kind, form] as const))(
  "a disk with too little room for the reply of %s: nothing is sent, nor tried again at once",
  async ([, form], context) => {
    const disk = tinyDisk(2048);
    if (disk === null) return context.skip(NO_MOUNT);
    const { run, generate, double } = await paidService(form, {}, { IMGGEN_HOME: disk });
    const { code, stdout, stderr } = await run([...generate, "--json", "--progress", "json"]);
    expect(code).toBe(8);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { type: "save_failed", message: expect.stringContaining(`could not be stored in ${disk}`) },
      charged: "no",
      resume: null,
    });
    expect(stderr).not.toContain("submit_retry");
    expect(double.submits()).toEqual([]);
    expect(await openTasks(disk)).toEqual([]);
  },
);

test("a batch on such a disk stops at its first row", async (context) => {
  const disk = tinyDisk(2048);
  if (disk === null) return context.skip(NO_MOUNT);
  const { run, double } = await paidService(OPENAI, {}, { IMGGEN_HOME: disk });
  const manifest = path.join(await temporaryFolder(), "prompts.txt");
  await writeFile(manifest, "a fox\nan owl\na hare\n");
  const { code, stderr } = await run(["batch", manifest, "--generator-paid", "--yes", "--concurrency", "1"]);
  expect(code).toBe(10);
  expect(stderr).toMatch(/^Stopped: Nothing was sent .* less than 64 MiB of the disk is free\.$/m);
  expect(stderr).not.toContain("line 2");
  expect(double.submits()).toEqual([]);
});

test("a folder of turns that cannot be used: nothing is sent", async () => {
  const { json, generator, home } = await generatorWorld();
  await json(["generate", "a fox"]);
  const turns = path.join(home, "state/turns");
  await rm(turns, { recursive: true });
  await writeFile(turns, "");
  const { code, document } = await json(["generate", "an owl"]);
  expect(code).toBe(8);
  expect(document).toMatchObject({ error: { type: "save_failed" }, charged: "no" });
  expect(generator.submits()).toHaveLength(1);
});
