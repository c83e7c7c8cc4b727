import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/core/errors.ts";
import { accepts, batchWorld, byPrompt, jsonLines } from "../../support/batch-world.ts";
import { type Behaviour, failure, response, type SeenRequest } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, reset, stillRunning } from "../../support/scripts.ts";

const BATCH = ["batch", "p.txt", "-m", "z-image", "-o", "out", "--yes"];
const foxes = (count: number) => Array.from({ length: count }, (_, index) => `fox ${index}`);
const NO_CREDITS = replies(failure("my_credits.no_credits_description"));

const isPost = ({ method }: SeenRequest) => method === "POST";

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

  it("is reported once, with the command that resumes, and the next run resumes", async () => {
    const world = await batchWorld({ submit: inTurn(accepts, NO_CREDITS, accepts) });
    await world.manifest("p.txt", ...foxes(5));
    const args = [...BATCH, "--concurrency", "1"];
    const { code, stderr } = await world.run(args);
    expect(code).toBe(4);
    expect(stderr.match(/^Stopped: /gm)).toHaveLength(1);
    expect(stderr).toMatch(/^5 rows: 1 saved, 1 failed, 3 not sent\./m);
    expect(stderr).toContain(
      "Resume with: imggen batch --poll-interval 100ms p.txt -m z-image -o out --yes --concurrency 1\n",
    );
    expect(stderr.match(/^line /gm)).toEqual(["line "]);
    expect(stderr).toMatch(/^line 2: failed: /m);
    expect((await world.run(args)).code).toBe(0);
    expect(world.prompts().toSorted()).toEqual(["fox 0", "fox 1", "fox 1", "fox 2", "fox 3", "fox 4"]);
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
    expect(stderr).toContain("--resubmit-unknown\n");
  });

  it("are told one by one while they are few, and are then counted by kind at the end", async () => {
    const world = await batchWorld({ submit: replies(failure("image_generation.error.busy")) });
    await world.manifest("p.txt", ...foxes(12));
    const { stderr } = await world.run(BATCH);
    expect(stderr.match(/^line \d+: failed: /gm)).toHaveLength(5);
    expect(stderr.match(/More of this kind are counted at the end\.$/gm)).toHaveLength(1);
    expect(stderr).toMatch(/^ {2}12 × .*image_generation\.error\.busy/m);
  });

  it("show nothing of what the service says raw", async () => {
    const world = await batchWorld({ submit: replies(failure("bad\u001b[31m\u202ekey")) });
    await world.manifest("p.txt", "a fox");
    for (const args of [BATCH, [...BATCH, "--json"]]) {
      const { stdout, stderr } = await world.run(args);
      expect(stdout + stderr).not.toContain("\u001b");
      expect(stdout + stderr).not.toContain("\u202e");
    }
  });
});

describe("SIGINT", () => {
  /** Runs a batch, and stops it as soon as the service has had so many of these requests. */
  async function stoppedAt(
    script: { submit?: Behaviour; poll?: Behaviour },
    wanted: number,
    args: string[] = [],
  ) {
    const controller = new AbortController();
    let seen = 0;
    let stoppedMs = 0;
    const counting =
      (behave: Behaviour, counts: boolean): Behaviour =>
      async (request, socket) => {
        await behave(request, socket);
        seen += counts ? 1 : 0;
        if (seen < wanted || controller.signal.aborted) return;
        stoppedMs = performance.now();
        controller.abort(new InterruptedError("SIGINT"));
      };
    const world = await batchWorld({
      submit: counting(script.submit ?? accepts, script.poll === undefined),
      poll: counting(script.poll ?? completedAt("/1.png"), script.poll !== undefined),
    });
    await world.manifest("p.txt", ...foxes(10));
    const run = await world.run([...BATCH, "--concurrency", "3", ...args], { signal: controller.signal });
    return { world, run, elapsedMs: performance.now() - stoppedMs };
  }

  it("stops submitting, names what was charged at once, and the next run resumes: exit 130", async () => {
    const { world, run, elapsedMs } = await stoppedAt({ poll: stillRunning }, 4);
    expect(run.code).toBe(130);
    expect(elapsedMs).toBeLessThan(1_000);
    expect(world.server.submits()).toHaveLength(3);
    for (const index of [0, 1, 2]) expect(run.stderr).toContain(`task-fox-${index}`);
    expect(run.stderr).toMatch(/^10 rows: 0 saved, 3 charged and unfinished, 7 not sent\./m);
    expect(run.stderr.match(/Interrupted/g)).toHaveLength(1);
    expect(run.stderr).toMatch(/^Interrupted by SIGINT\.$/m);
    expect(run.stderr).toContain("Resume with: imggen batch ");
  });

  it("waits for the answer to a submit that is under way, and says so at once", async () => {
    const late400: Behaviour = async (request, socket) => {
      setTimeout(() => void accepts(request, socket), 400);
    };
    const { world, run, elapsedMs } = await stoppedAt({ submit: late400 }, 3, ["--json"]);
    expect(run.code).toBe(130);
    expect(elapsedMs).toBeGreaterThan(200);
    expect(elapsedMs).toBeLessThan(2_000);
    expect(run.stderr.match(/^Stopping\. /gm)).toHaveLength(1);
    const rows = jsonLines(run.stdout);
    expect(rows.pop()).toMatchObject({ type: "summary", rows: 10, failed: 10, pending: 3, notSent: 7 });
    for (const row of rows) {
      expect(row).toMatchObject({
        ok: false,
        charged: "yes",
        error: { type: "interrupted", exitCode: 130 },
        resume: `imggen resume ${row.taskId}`,
      });
    }
    expect(world.server.submits()).toHaveLength(3);
  });

  it("before anything was sent leaves every row new", async () => {
    const controller = new AbortController();
    const world = await batchWorld();
    await world.manifest("p.txt", ...foxes(3));
    controller.abort(new InterruptedError("SIGINT"));
    const { code } = await world.run(BATCH, { signal: controller.signal });
    expect(code).toBe(130);
    expect(world.server.requests.filter(isPost)).toEqual([]);
    expect((await world.run(BATCH)).code).toBe(0);
    expect(world.server.submits()).toHaveLength(3);
  });

  it("while the service is busy leaves no row behind that looks sent", async () => {
    const controller = new AbortController();
    const busy: Behaviour = (_request, socket) => {
      socket.write(response(429, "", { "retry-after": "60" }));
      setTimeout(() => controller.abort(new InterruptedError("SIGINT")), 100);
    };
    const world = await batchWorld({ submit: inTurn(busy, busy, accepts) });
    await world.manifest("p.txt", ...foxes(6));
    const args = [...BATCH.slice(1), "--concurrency", "2"];
    const { code, summary } = await world.batchJson(args, { signal: controller.signal });
    expect(code).toBe(130);
    expect(summary).toMatchObject({ unknown: 0, notSent: 6 });
    expect((await world.run(BATCH)).code).toBe(0);
  });
});
