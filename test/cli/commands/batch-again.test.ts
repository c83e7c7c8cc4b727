import { readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/core/errors.ts";
import { accepts, type BatchWorld, batchWorld, byPrompt, imagesIn } from "../../support/batch-world.ts";
import { CANARY } from "../../support/canary.ts";
import { type Behaviour, failure, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn, late, replies, reset, stillRunning, taskIs } from "../../support/scripts.ts";

const MODEL = ["-m", "z-image"];
const BATCH = ["batch", "p.txt", ...MODEL, "-o", "out"];
const PROMPTS = ["a fox", "a hen", "an owl"];

const filesIn = async (world: BatchWorld) => imagesIn(path.join(world.cwd, "out"));

/** Answers polls by their task; a task that is not named is completed. */
function byTask(behaviours: Record<string, Behaviour>): Behaviour {
  return (request, socket) => {
    const id = new URL(request.target, "http://x").searchParams.get("taskId") ?? "";
    return (behaviours[id] ?? completedAt("/1.png"))(request, socket);
  };
}

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
    expect(stderr).toContain("3 saved already, nothing to submit");
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

  it("polls what was accepted, instead of submitting it", async () => {
    const world = await batchWorld({
      submit: accepts,
      poll: byTask({ "task-a-hen": inTurn(stillRunning, stillRunning, completedAt("/1.png")) }),
    });
    await world.manifest("p.txt", ...PROMPTS);
    const first = await world.batchJson([...BATCH.slice(1), "--timeout", "50ms", "--poll-interval", "100ms"]);
    expect(first.code).toBe(10);
    expect(first.summary).toMatchObject({ saved: 2, failed: 1, pending: 1, credits: null });
    const running = first.rows.find(({ ok }) => !ok);
    expect(running).toMatchObject({
      taskId: "task-a-hen",
      charged: "yes",
      resume: "imggen resume task-a-hen",
      error: { type: "pending" },
    });
    const again = await world.batchJson(BATCH.slice(1));
    expect(again.code).toBe(0);
    expect(again.summary).toMatchObject({ saved: 1, skipped: 2 });
    expect(world.server.submits()).toHaveLength(3);
    expect(await filesIn(world)).toHaveLength(3);
  });

  it("knows its rows by their content: in another order, on other lines, with others among them", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...PROMPTS);
    await world.run(BATCH);
    await world.manifest("p.txt", "# by now", "an owl", "", "a cat", "a fox");
    const { code, summary } = await world.batchJson(BATCH.slice(1));
    expect(code).toBe(0);
    expect(summary).toMatchObject({ rows: 3, saved: 1, skipped: 2 });
    expect(world.prompts().slice(3)).toEqual(["a cat"]);
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

  it("distinguishes equal rows by their number: one more of them is one more submitted", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox", "a fox");
    expect((await world.run(BATCH)).code).toBe(0);
    expect(world.server.submits()).toHaveLength(2);
    await world.manifest("p.txt", "a fox", "a fox", "a fox");
    expect((await world.batchJson(BATCH.slice(1))).summary).toMatchObject({ saved: 1, skipped: 2 });
    expect(world.server.submits()).toHaveLength(3);
    expect(await filesIn(world)).toHaveLength(3);
  });

  it("is another batch in another folder", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", "a fox");
    await world.run(BATCH);
    await world.run(["batch", "p.txt", ...MODEL, "-o", "other"]);
    expect(world.server.submits()).toHaveLength(2);
  });

  it("downloads an image that is gone again, without submitting it", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...PROMPTS);
    await world.run(BATCH);
    const [first = ""] = await filesIn(world);
    await rm(path.join(world.cwd, "out", first));
    const { code, summary } = await world.batchJson(BATCH.slice(1));
    expect(code).toBe(0);
    expect(summary).toMatchObject({ saved: 1, skipped: 2 });
    expect(await filesIn(world)).toHaveLength(3);
    expect(world.server.submits()).toHaveLength(3);
  });

  it("leaves an image alone that its owner has changed", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...PROMPTS);
    await world.run(BATCH);
    const files = await filesIn(world);
    await writeFile(path.join(world.cwd, "out", files[0] ?? ""), "retouched");
    const requests = world.server.requests.length;
    expect((await world.batchJson(BATCH.slice(1))).summary).toMatchObject({ saved: 0, skipped: 3 });
    expect(await filesIn(world)).toEqual(files);
    expect(world.server.requests).toHaveLength(requests);
  });

  it("tries again what the service refused, which cost nothing", async () => {
    const world = await batchWorld({
      submit: byPrompt({ "a hen": inTurn(replies(failure("image_generation.error.busy")), accepts) }),
    });
    await world.manifest("p.txt", ...PROMPTS);
    const first = await world.batchJson(BATCH.slice(1));
    expect(first.code).toBe(10);
    expect(first.summary).toMatchObject({ saved: 2, failed: 1 });
    const again = await world.run(BATCH);
    expect(again.code).toBe(0);
    expect(world.prompts().filter((prompt) => prompt === "a hen")).toHaveLength(2);
  });

  it("does not submit again by itself what was submitted and failed", async () => {
    const world = await batchWorld({
      submit: accepts,
      poll: byTask({
        "task-a-hen": (_request, socket) =>
          void socket.write(
            Buffer.from(
              'HTTP/1.1 200 OK\r\ncontent-length: 64\r\n\r\n{"code":0,"message":"","data":{"status":"failed","errorCode":7}}',
            ),
          ),
      }),
    });
    await world.manifest("p.txt", ...PROMPTS);
    for (let run = 0; run < 2; run++) {
      const { code, rows, summary } = await world.batchJson(BATCH.slice(1));
      expect(code).toBe(10);
      expect(summary).toMatchObject({ failed: 1, unknown: 0 });
      expect(rows.find(({ ok }) => !ok)).toMatchObject({ error: { type: "generation_failed" } });
    }
    expect(world.server.submits()).toHaveLength(3);
    const { stderr } = await world.run(BATCH);
    expect(stderr).toMatch(/To submit failed rows again, at a new charge: imggen batch .* --retry-failed\b/m);
    expect(stderr).not.toContain("Resume with");
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
    expect(stderr).toMatch(/To submit them again: imggen batch (?!.*--retry-failed).* --resubmit-unknown\b/m);
    expect(stderr).toMatch(/at a new charge: imggen batch (?!.*--resubmit-unknown).* --retry-failed\b/m);
  });

  it("submits failed rows again with --retry-failed, once, and is then like any other", async () => {
    const failed: Behaviour = replies(success({ status: "failed", errorCode: 7 }));
    const poll = byTask({ "task-a-hen": inTurn(failed, failed, completedAt("/1.png")) });
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

  it("resumes what another key submitted by saying what is needed, and submits nothing twice", async () => {
    const world = await batchWorld({ submit: accepts, poll: byTask({ "task-a-hen": stillRunning }) });
    await world.manifest("p.txt", ...PROMPTS);
    await world.run([...BATCH, "--timeout", "50ms"]);
    const env = { IMGGEN_API_KEY: `${CANARY}2` };
    const { code, rows, summary } = await world.batchJson(BATCH.slice(1), { env });
    expect(code).toBe(10);
    expect(summary).toMatchObject({ skipped: 2, failed: 1 });
    expect(rows.find(({ ok }) => !ok)).toMatchObject({
      charged: "yes",
      error: { message: expect.stringContaining("another API key") },
    });
    expect(world.server.submits()).toHaveLength(3);
  });
});

describe("a row of unknown outcome", () => {
  const lost = () =>
    batchWorld({ submit: byPrompt({ "a hen": inTurn(reset, accepts) }), poll: completedAt("/1.png") });

  it("is reported and left, however often the batch runs: exit 10", async () => {
    const world = await lost();
    await world.manifest("p.txt", ...PROMPTS);
    for (let run = 0; run < 3; run++) {
      const { code, rows, summary } = await world.batchJson(BATCH.slice(1));
      expect(code).toBe(10);
      expect(summary).toMatchObject({ unknown: 1, failed: 0 });
      expect(rows.find(({ ok }) => !ok)).toMatchObject({
        line: 2,
        charged: "unknown",
        error: { type: "outcome_unknown" },
      });
    }
    expect(world.server.submits()).toHaveLength(3);
  });

  it("may have been charged: the run says from what to what it has cost", async () => {
    const world = await lost();
    await world.manifest("p.txt", ...PROMPTS);
    const { stderr } = await world.run(["batch", "p.txt", "-m", "gamma-image-2", "-q", "1K", "-o", "out"]);
    expect(stderr).toMatch(
      /^3 rows: 2 saved, 1 of unknown outcome\. Charged in this run: 4 to 6 credits\.$/m,
    );
  });

  it.each([
    [
      "a hen",
      "gamma-image-2",
      "1 row: 0 saved, 1 of unknown outcome. May have been charged in this run: 2 credits.",
    ],
    [
      "a hen",
      "vendor1/alpha-2",
      "1 row: 0 saved, 1 of unknown outcome. May have been charged in this run: cost unknown.",
    ],
    [
      "a hen\na fox",
      "vendor1/alpha-2",
      "2 rows: 1 saved, 1 of unknown outcome. Charged in this run: cost unknown; 1 row may not have been charged.",
    ],
  ])("is not said to have been charged: %j of %s", async (prompts, model, said) => {
    const world = await lost();
    await world.manifest("p.txt", ...prompts.split("\n"));
    const { stderr } = await world.run(["batch", "p.txt", "-m", model, "-o", "out"]);
    expect(stderr.split("\n")).toContain(said);
  });

  it("is submitted again with --resubmit-unknown, once, and is then like any other", async () => {
    const world = await lost();
    await world.manifest("p.txt", ...PROMPTS);
    const { stderr } = await world.run(BATCH);
    expect(stderr).toContain(`${["imggen", "batch"].join(" ")}`);
    expect(stderr).toContain("--resubmit-unknown");
    const again = await world.batchJson([...BATCH.slice(1), "--resubmit-unknown"]);
    expect(again.code).toBe(0);
    expect(again.summary).toMatchObject({ saved: 1, skipped: 2, unknown: 0 });
    expect((await world.batchJson([...BATCH.slice(1), "--resubmit-unknown"])).summary).toMatchObject({
      skipped: 3,
    });
    expect(world.server.submits()).toHaveLength(4);
    expect((await world.run(["resume"])).code).toBe(0);
  });

  it("that was dismissed is no success either", async () => {
    const world = await lost();
    await world.manifest("p.txt", ...PROMPTS);
    await world.run(BATCH);
    const { document } = await world.json(["history"]);
    const unknown = Object.values(document).find(({ status }) => String(status) === "unknown");
    expect((await world.run(["resume", String(unknown?.id), "--dismiss"])).code).toBe(0);
    const { code, rows, summary } = await world.batchJson(BATCH.slice(1));
    expect(code).toBe(10);
    expect(summary).toMatchObject({ unknown: 1, skipped: 2 });
    expect(rows.filter(({ ok }) => ok)).toHaveLength(2);
    expect(rows.find(({ ok }) => !ok)).toMatchObject({ line: 2, charged: "unknown" });
    expect((await world.batchJson([...BATCH.slice(1), "--resubmit-unknown"])).code).toBe(0);
  });
});

describe("two runs of one batch at once", () => {
  it("submit every row once, end with every row saved, and both say so", async () => {
    const world = await batchWorld({
      submit: late(20, accepts),
      poll: inTurn(stillRunning, stillRunning, stillRunning, completedAt("/1.png")),
    });
    const prompts = Array.from({ length: 12 }, (_, index) => `fox ${index}`);
    await world.manifest("p.txt", ...prompts);
    const runs = await Promise.all([1, 2, 3].map(() => world.batchJson(BATCH.slice(1))));
    expect(world.prompts().toSorted()).toEqual(prompts.toSorted());
    for (const { code, summary, rows } of runs) {
      expect(code).toBe(0);
      expect(Number(summary.saved) + Number(summary.skipped)).toBe(12);
      expect(rows.map(({ row }) => Number(row)).toSorted((a, b) => a - b)).toEqual(
        prompts.map((_, index) => index + 1),
      );
    }
    expect(runs.reduce((sum, { summary }) => sum + Number(summary.saved), 0)).toBe(12);
    expect(await filesIn(world)).toHaveLength(12);
    expect(await readdir(path.join(world.home, "state", "tasks", "open"))).toEqual([]);
  });

  it("submit what is of unknown outcome again once, where both are told to", async () => {
    const world = await batchWorld({
      submit: byPrompt({ "a hen": inTurn(reset, late(30, accepts)) }),
      poll: completedAt("/1.png"),
    });
    await world.manifest("p.txt", ...PROMPTS);
    await world.run(BATCH);
    const again = [...BATCH.slice(1), "--resubmit-unknown"];
    const runs = await Promise.all([world.batchJson(again), world.batchJson(again), world.batchJson(again)]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(world.server.submits()).toHaveLength(4);
  });

  it("are not held up by a row that one of them has left unfinished", async () => {
    const controller = new AbortController();
    const world = await batchWorld({
      submit: accepts,
      poll: (request, socket) => {
        if (!controller.signal.aborted) controller.abort(new InterruptedError("SIGINT"));
        return completedAt("/1.png")(request, socket);
      },
    });
    await world.manifest("p.txt", ...PROMPTS);
    const [first, second] = await Promise.all([
      world.run(BATCH, { signal: controller.signal }),
      world.batchJson(BATCH.slice(1)),
    ]);
    expect(first.code).toBe(130);
    expect(second.code).toBe(0);
    expect(world.server.submits()).toHaveLength(3);
  });
});
