import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { accepts, batchWorld, byPrompt, foxes } from "../../support/batch-world.ts";
import { failure } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, reset, stillRunning } from "../../support/scripts.ts";

const BATCH = ["batch", "p.txt", "-m", "z-image", "-o", "out", "--yes"];
const NO_CREDITS = replies(failure("my_credits.no_credits_description"));

describe("an account that can pay for no more", () => {
  it.each([
    ["no credits are left", "my_credits.no_credits_description", 4, "insufficient_credits"],
    ["the key is refused", "login_required", 3, "auth_required"],
  ])("stops the batch where %s, and what was accepted is finished first", async (_name, key, exit, type) => {
    const finished = inTurn(stillRunning, stillRunning, stillRunning, completedAt("/1.png"));
    const world = await batchWorld({
      submit: inTurn(accepts, accepts, replies(failure(key))),
      // No row ends, and lets the next one begin, before the third was refused.
      poll: (request, socket) =>
        (world.server.submits().length < 3 ? stillRunning : finished)(request, socket),
    });
    await world.manifest("p.txt", ...foxes(20));
    const { code, rows, summary } = await world.batchJson([...BATCH.slice(1), "--concurrency", "3"]);
    expect(code).toBe(exit);
    expect(summary).toMatchObject({ rows: 20, saved: 2, unknown: 0, skipped: 0 });
    expect(Number(summary.failed)).toBe(18);
    expect(world.server.submits()).toHaveLength(3);
    expect(rows).toHaveLength(20);
    for (const row of rows.filter(({ ok }) => !ok))
      expect(row).toMatchObject({ charged: "no", error: { type } });
  });

  it("is reported once, with what resumes it, and the next run resumes", async () => {
    const world = await batchWorld({ submit: inTurn(accepts, NO_CREDITS, accepts) });
    await world.manifest("p.txt", ...foxes(5));
    const args = [...BATCH, "--concurrency", "1"];
    const { code, stderr } = await world.run(args);
    expect(code).toBe(4);
    expect(stderr.match(/^Stopped: /gm)).toHaveLength(1);
    expect(stderr).toMatch(/^5 rows: 1 saved, 1 failed, 3 not sent\./m);
    expect(stderr).toContain("then run the same command again.\n");
    expect(stderr.match(/^line /gm)).toEqual(["line "]);
    expect(stderr).toMatch(/^line 2: failed: /m);
    expect((await world.run(args)).code).toBe(0);
    expect(world.prompts().toSorted()).toEqual(["fox 0", "fox 1", "fox 1", "fox 2", "fox 3", "fox 4"]);
  });

  it.each([
    ["login_required", "Store a key that works: imggen login\n"],
    ["my_credits.no_credits_description", "Add credits to the account, then run the same command again.\n"],
  ])("is told what to do first where the service answers %s", async (key, advice) => {
    const world = await batchWorld({ submit: replies(failure(key)) });
    await world.manifest("p.txt", "a fox");
    const { stderr } = await world.run(BATCH);
    expect(stderr).toMatch(/^Stopped: [^\n]+\n/m);
    expect(stderr).toContain(advice);
    expect(stderr.match(/run the same command again\./g)).toHaveLength(1);
  });

  it("is told under --quiet too", async () => {
    const world = await batchWorld({ submit: NO_CREDITS });
    await world.manifest("p.txt", "a fox");
    const { code, stderr } = await world.run([...BATCH, "--quiet"]);
    expect(code).toBe(4);
    expect(stderr).toMatch(/line 1: failed: /);
  });
});

describe("rows that fail", () => {
  it("do not keep the others from being saved: exit 10, and the summary says which and why", async () => {
    const world = await batchWorld({
      submit: byPrompt({ "a hen": replies(failure("image_generation.error.busy")), "an owl": reset }),
    });
    await world.manifest("p.txt", "a fox", "a hen", "an owl");
    const { code, stdout, stderr } = await world.run(BATCH);
    expect(code).toBe(10);
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(/^3 rows: 1 saved, 1 failed, 1 of unknown outcome\./m);
    expect(stderr.match(/^line 2: failed: .*image_generation\.error\.busy/gm)).toHaveLength(1);
    expect(stderr.match(/^line 3: outcome unknown: .*not known/gm)).toHaveLength(1);
    expect(stderr).not.toContain("×");
    expect(stderr).toContain("run the same command again with --resubmit-unknown.\n");
  });

  it("are told one by one while they are few, and are then counted by kind at the end", async () => {
    const world = await batchWorld({ submit: replies(failure("image_generation.error.busy")) });
    await world.manifest("p.txt", ...foxes(12));
    const { stderr } = await world.run(BATCH);
    expect(stderr.match(/^line \d+: failed: /gm)).toHaveLength(5);
    expect(stderr.match(/Further failures of this kind are only counted\.$/gm)).toHaveLength(1);
    expect(stderr).toMatch(/^ {2}12 × .*image_generation\.error\.busy/m);
  });
});

it("SIGINT waits for the answer to submits in flight, and says so at once: exit 130", async () => {
  const controller = new AbortController();
  let reply = () => {};
  const isSaid = new Promise<void>((resolve) => (reply = resolve));
  const world = await batchWorld({
    submit: async (request, socket) => {
      if (world.server.submits().length === 3) controller.abort(new InterruptedError("SIGINT"));
      await isSaid;
      await accepts(request, socket);
    },
  });
  await world.manifest("p.txt", ...foxes(10));
  const onStderr = (text: string) => text.startsWith("Stopping. ") && reply();
  const options = { signal: controller.signal, onStderr };
  const args = [...BATCH.slice(1), "--concurrency", "3"];
  const { code, rows, summary, stderr } = await world.batchJson(args, options);
  expect(code).toBe(130);
  expect(stderr.match(/^Stopping\. /gm)).toHaveLength(1);
  expect(summary).toMatchObject({ type: "summary", rows: 10, failed: 10, pending: 3, notSent: 7 });
  for (const row of rows)
    expect(row).toMatchObject({
      ok: false,
      charged: "yes",
      error: { type: "interrupted", exitCode: 130 },
      resume: `imggen resume ${row.taskId}`,
    });
  expect(world.server.submits()).toHaveLength(3);
});
