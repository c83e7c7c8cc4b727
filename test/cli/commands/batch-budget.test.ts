import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { accepts, type BatchWorld, batchWorld, foxes, TWO_CREDITS } from "../../support/batch-world.ts";
import type { Behaviour } from "../../support/scripted-server.ts";
import { completedAt, late } from "../../support/scripts.ts";

const BATCH = ["batch", "p.txt", ...TWO_CREDITS, "-o", "out"];
/** Without a spinner, which would need more of a terminal than there is. */
const TERMINAL = { terminal: true, env: { TERM: "dumb" } };

async function stateOf(world: BatchWorld): Promise<string[]> {
  return (await readdir(path.join(world.home), { recursive: true })).filter((name) =>
    name.endsWith(".jsonl"),
  );
}

describe("--max-credits", () => {
  it("refuses what the whole batch would cost above it: exit 2, nothing sent, nothing written down", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...foxes(3));
    const { code, document } = await world.json([...BATCH, "--max-credits", "5"]);
    expect(code).toBe(2);
    expect(document).toMatchObject({ ok: false, charged: "no", error: { type: "budget_exceeded" } });
    expect(String(document.error?.message)).toMatch(/\b6\b.*\b5\b/);
    expect(world.server.requests).toEqual([]);
    expect(await stateOf(world)).toEqual([]);
    expect((await world.run([...BATCH, "--max-credits", "6"])).code).toBe(0);
  });

  it("counts what rows of earlier runs have cost, those that were removed from the manifest too", async () => {
    const world = await batchWorld();
    const run = () => world.run([...BATCH, "--max-credits", "4"]);
    await world.manifest("p.txt", ...foxes(2));
    expect((await run()).code).toBe(0);
    await world.manifest("p.txt", "a hen");
    expect(await run()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("earlier runs may have been charged 4"),
    });
    expect(world.server.submits()).toHaveLength(2);
  });

  it("of a comparison counts its own cells, and not what else went into the folder", async () => {
    const world = await batchWorld();
    const compare = (prompt: string) => world.run(["compare", prompt, ...TWO_CREDITS, "--max-credits", "2"]);
    expect((await compare("a fox")).code).toBe(0);
    expect((await compare("a hen")).code).toBe(0);
    expect((await compare("a hen")).code).toBe(0);
    expect(world.server.submits()).toHaveLength(2);
  });
});

describe("confirmAbove", () => {
  it("does not ask where the costs, unknown ones included, are below it", async () => {
    const world = await batchWorld({ poll: completedAt("/1.png") });
    await world.manifest("p.txt", "a fox", "a hen");
    const { stderr } = await world.run(["batch", "p.txt", "-m", "z-image", "-o", "out"]);
    expect(stderr).toMatch(
      /^2 rows, 2 to submit: cost unknown\. For the confirmation, each row of unknown cost counts as 8 credits, so the total is 16 credits\.\n/,
    );
  });

  const COSTLY = 51;

  it("needs --yes or a budget above that, off a terminal: else exit 2, nothing sent", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...foxes(COSTLY));
    const run = await world.run(BATCH, { input: "" });
    expect(run).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/102 credits.*100.*\n.*--yes.*--max-credits/),
    });
    expect(run.stderr).toContain("51 rows, 51 to submit: 102 credits.");
    expect(world.server.requests).toEqual([]);
  });

  it.each([["--yes"], ["--max-credits", "102"]])("is met by %s", async (...flags) => {
    const world = await batchWorld();
    await world.run(["config", "set", "confirmAbove", "3"]);
    await world.manifest("p.txt", ...foxes(2));
    expect((await world.run(BATCH, { input: "" })).code).toBe(2);
    expect((await world.run([...BATCH, ...flags], { input: "" })).code).toBe(0);
  });

  it.each([
    ["y\n", 0, 2],
    [" YES \n", 0, 2],
    ["\n", 2, 0],
    ["", 2, 0],
    ["yesterday\n", 2, 0],
  ])("asks at a terminal, and takes %j for what it is: exit %i", async (typed, exit, submits) => {
    const world = await batchWorld();
    await world.run(["config", "set", "confirmAbove", "3"]);
    await world.manifest("p.txt", ...foxes(2));
    const { code, stderr } = await world.run(BATCH, { ...TERMINAL, typed });
    expect(stderr).toContain("Spend 4 credits? [y/N] ");
    expect(code, stderr).toBe(exit);
    expect(world.server.submits()).toHaveLength(submits);
  });

  it("asks at a terminal in spite of a budget, and not with --yes", async () => {
    const world = await batchWorld();
    await world.run(["config", "set", "confirmAbove", "3"]);
    await world.manifest("p.txt", ...foxes(2));
    const terminal = { ...TERMINAL, typed: "n\n" };
    expect((await world.run([...BATCH, "--max-credits", "100"], terminal)).code).toBe(2);
    expect((await world.run([...BATCH, "--yes"], terminal)).code).toBe(0);
  });

  it("says how many rows repeat an earlier one", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox", "a hen", "a fox", "a fox", "a hen");
    expect((await world.run(BATCH)).stderr).toContain(
      "5 rows (3 repeat an earlier row), 5 to submit: 10 credits.",
    );
    const dry = await world.run([...BATCH, "--dry-run"]);
    expect(dry.stdout).toBe(
      "5 rows (3 repeat an earlier row), 5 already saved, 10 credits already charged, nothing to submit, nothing was sent\n",
    );
  });
});

describe("dailyCredits", () => {
  const limited = async (limit: number, submit: Behaviour = accepts): Promise<BatchWorld> => {
    const world = await batchWorld({ submit });
    await world.run(["config", "set", "dailyCredits", String(limit)]);
    return world;
  };

  it("refuses a batch that does not fit into what is left of the day: exit 2, nothing sent", async () => {
    const world = await limited(7);
    await world.run(["generate", "a hen", ...TWO_CREDITS]);
    await world.manifest("p.txt", ...foxes(3));
    const { code, document } = await world.json(BATCH);
    expect([code, document.error?.type]).toEqual([2, "budget_exceeded"]);
    expect(String(document.error?.message)).toMatch(/\b2\b.*\b6\b.*\b7\b/);
    expect(world.server.submits()).toHaveLength(1);
    await world.manifest("p.txt", ...foxes(2));
    expect((await world.run(BATCH)).code).toBe(0);
    expect((await world.run(["generate", "a cat", ...TWO_CREDITS])).code).toBe(2);
  });

  it("is never passed by batches and single commands that run at once", async () => {
    const world = await limited(20, late(10, accepts));
    await world.manifest("p.txt", ...foxes(8));
    await world.manifest("q.txt", ...foxes(8).map((fox) => `${fox} again`));
    const runs = await Promise.all([
      world.run(BATCH),
      world.run(["batch", "q.txt", ...TWO_CREDITS, "-o", "other"]),
      ...[1, 2, 3].map((each) => world.run(["generate", `a hen ${each}`, ...TWO_CREDITS])),
    ]);
    expect(world.server.submits().length).toBeLessThanOrEqual(10);
    expect(world.server.submits().length).toBeGreaterThan(0);
    for (const { code } of runs) expect([0, 2, 10]).toContain(code);
    for (const { stderr } of runs.filter(({ code }) => code !== 0))
      expect(stderr).toContain("dailyCredits is 20");
  });
});
