import path from "node:path";
import { describe, expect, it } from "vitest";
import { accepts, type BatchWorld, batchWorld, byPrompt, imagesIn } from "../../support/batch-world.ts";
import { type Behaviour, failure, success } from "../../support/scripted-server.ts";
import { byTask, completedAt, inTurn, replies, reset, taskIs } from "../../support/scripts.ts";

const MODEL = ["-m", "z-image"];
const BATCH = ["batch", "p.txt", ...MODEL, "-o", "out"];
const PROMPTS = ["a fox", "a hen", "an owl"];

const filesIn = async (world: BatchWorld) => imagesIn(path.join(world.cwd, "out"));

describe("the same batch again", () => {
  it("submits nothing, downloads nothing and says so, where all rows are saved", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...PROMPTS);
    await world.run(BATCH);
    const files = await filesIn(world);
    const requests = world.server.requests.length;
    const { code, rows, summary, stderr } = await world.batchJson(BATCH.slice(1));
    expect(code).toBe(0);
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toMatchObject({ ok: true, skipped: true, status: "completed" });
    expect(summary).toMatchObject({ rows: 3, saved: 0, skipped: 3, failed: 0, unknown: 0, credits: 0 });
    expect(stderr).toContain("3 already saved, nothing to submit");
    expect(world.server.requests).toHaveLength(requests);
    expect(await filesIn(world)).toEqual(files);
  });

  it("prints the paths of what was saved before, so that a script gets them all", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...PROMPTS);
    const first = await world.run(BATCH);
    const again = await world.run(BATCH);
    expect(again.stdout.split("\n").toSorted()).toEqual(first.stdout.split("\n").toSorted());
  });

  it("knows them in a manifest of another name and kind", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...PROMPTS);
    await world.run(BATCH);
    const rows = PROMPTS.map((prompt) => ({ model: "z-image", prompt }));
    await world.manifest("q.jsonl", ...rows.toReversed());
    expect((await world.run(["batch", "q.jsonl", "-o", "out"])).code).toBe(0);
    expect(world.server.submits()).toHaveLength(3);
  });

  it("names a command for each kind of row, which charges no other again", async () => {
    const world = await batchWorld({ submit: inTurn(reset, accepts), poll: taskIs({ status: "failed" }) });
    await world.manifest("p.txt", "a fox", "a hare");
    const { stderr } = await world.run([
      ...BATCH,
      "--retry-failed",
      "--resubmit-unknown",
      "--concurrency",
      "1",
    ]);
    const repeat = "run the same command again";
    expect(stderr).toContain(
      `To submit them again, ${repeat} with --resubmit-unknown without --retry-failed.\n`,
    );
    expect(stderr).toContain(`at a new charge, ${repeat} with --retry-failed without --resubmit-unknown.\n`);
  });

  it("says that a manifest on standard input must be given again", async () => {
    const world = await batchWorld({ poll: taskIs({ status: "failed" }) });
    const { stderr } = await world.run(["batch", "-", "-m", "z-image", "-o", "out", "--yes"], {
      input: "a fox\n",
    });
    expect(stderr).toContain("run the same command again with the same input and with --retry-failed.\n");
  });

  it("submits a row again that was refused, as its hint says", async () => {
    const refuses = replies(failure("image_generation.error.generation_failed"));
    const world = await batchWorld({ submit: inTurn(refuses, accepts) });
    await world.manifest("p.txt", "a fox");
    const { rows } = await world.batchJson(BATCH.slice(1));
    expect(rows[0]?.error?.hint).toBe(
      "Nothing was charged. The next run of this batch submits the row again.",
    );
    expect((await world.batchJson(BATCH.slice(1))).summary).toMatchObject({ saved: 1, failed: 0 });
    expect(world.prompts()).toEqual(["a fox", "a fox"]);
  });

  it("submits failed rows again with --retry-failed, once, and is then like any other", async () => {
    const failed: Behaviour = replies(success({ status: "failed", errorCode: 7 }));
    const poll = byTask(completedAt("/1.png"), {
      "task-a-hen": inTurn(failed, failed, completedAt("/1.png")),
    });
    const world = await batchWorld({ submit: accepts, poll });
    await world.manifest("p.txt", ...PROMPTS);
    const again = [...BATCH.slice(1), "--retry-failed"];
    expect((await world.batchJson(BATCH.slice(1))).summary).toMatchObject({ saved: 2, failed: 1 });
    // It fails again: one run does not submit it twice.
    const second = await world.batchJson(again);
    expect(second.summary).toMatchObject({ skipped: 2, failed: 1 });
    expect(second.stderr).toContain("1 to submit");
    expect(world.server.submits()).toHaveLength(4);
    expect((await world.batchJson(again)).summary).toMatchObject({ saved: 1, skipped: 2, failed: 0 });
    expect((await world.batchJson(again)).summary).toMatchObject({ saved: 0, skipped: 3 });
    expect(world.prompts().toSorted()).toEqual(["a fox", "a hen", "a hen", "a hen", "an owl"]);
  });

  it("counts what --retry-failed submits for its budget, on top of what may have been charged", async () => {
    const world = await batchWorld({ submit: accepts, poll: replies(success({ status: "failed" })) });
    await world.manifest("p.csv", "prompt,model,quality", "a fox,gamma-image-2,1K");
    const args = ["batch", "p.csv", "-o", "out", "--max-credits", "3", "--json"];
    await world.run(args);
    const { code, stdout } = await world.run([...args, "--retry-failed"]);
    expect({ code, type: JSON.parse(stdout).error.type }).toEqual({ code: 2, type: "budget_exceeded" });
    expect(world.server.submits()).toHaveLength(1);
  });
});

describe("a row of unknown outcome", () => {
  const lost = () =>
    batchWorld({ submit: byPrompt({ "a hen": inTurn(reset, accepts) }), poll: completedAt("/1.png") });

  it.each([
    ["a fox\na hen\nan owl", "gamma-image-2", "Charged in this run: 4 to 6 credits."],
    ["a hen", "gamma-image-2", "May have been charged in this run: 2 credits."],
    ["a hen", "vendor1/alpha-2", "May have been charged in this run: cost unknown."],
    [
      "a hen\na fox",
      "vendor1/alpha-2",
      "Charged in this run: cost unknown; 1 row may not have been charged.",
    ],
  ])("is not said to have been charged: %j of %s", async (prompts, model, said) => {
    const world = await lost();
    await world.manifest("p.txt", ...prompts.split("\n"));
    const { stderr } = await world.run(["batch", "p.txt", "-m", model, "-o", "out"]);
    expect(stderr).toContain(`, 1 of unknown outcome. ${said}\n`);
  });
});
