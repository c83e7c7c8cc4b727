import { rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { jsonLines } from "../../support/batch-world.ts";
import { commandWorld } from "../../support/command-world.ts";
import { failure } from "../../support/scripted-server.ts";
import { byTask, completedAt, inTurn, replies, reset, stillRunning, taskIs } from "../../support/scripts.ts";

const states = byTask(replies(failure("image_generation.error.unknown_error")), {
  done: completedAt("/1.png?signature=s3cret"),
  running: stillRunning,
  failed: taskIs({ status: "failed", errorCode: 7 }),
  refused: replies(failure("login_required")),
  broken: reset,
});

describe("status", () => {
  it.each([
    ["done", 0, { ok: true, status: "completed" }],
    ["running", 6, { ok: true, status: "running", urls: [], files: [] }],
    ["failed", 5, { ok: false, status: "failed", error: { type: "generation_failed" } }],
    ["refused", 3, { ok: false, status: "unknown", error: { type: "auth_required", key: "login_required" } }],
    ["broken", 7, { ok: false, status: "unknown", error: { type: "network" } }],
  ])("of a task that is %s: exit %i", async (id, exit, expected) => {
    const world = await commandWorld({ poll: states });
    const { code, document } = await world.json(["status", id]);
    expect([code, document]).toMatchObject([exit, { taskId: id, ...expected }]);
    expect(world.server.requests).toHaveLength(1);
  });

  it("shows where the image is, without its query", async () => {
    const world = await commandWorld({ poll: states });
    const { document } = await world.json(["status", "done"]);
    expect(document.urls).toEqual([expect.stringContaining(`${world.server.origin}/1.png`)]);
    const { stdout } = await world.run(["status", "done"]);
    expect(stdout).toContain("completed");
    expect(stdout).not.toContain("s3cret");
  });

  it.each([
    [["done", "running"], 6],
    [["done", "running", "failed"], 5],
    [["done", "failed", "broken"], 7],
    [["broken", "refused", "done"], 3],
    [["done", "done"], 0],
  ])("of several tasks %j is one JSON line each, and the worst exit code: %i", async (ids, exit) => {
    const world = await commandWorld({ poll: states });
    const { code, stdout } = await world.run(["status", ...ids, "--json"]);
    const lines = jsonLines(stdout);
    expect(lines.map(({ taskId }) => taskId).sort()).toEqual([...ids].sort());
    expect(code).toBe(exit);
  });

  it("claims no state of an id that nobody knows, beside a task of the ledger, where the key is refused", async () => {
    const world = await commandWorld({ poll: replies(failure("login_required")) });
    await world.run(["generate", "a fox", "--no-wait"]);
    const { code, stdout } = await world.run(["status", "task-1", "other", "--json"]);
    expect([code, ...jsonLines(stdout)]).toMatchObject([
      3,
      { taskId: "task-1", status: "running", charged: "yes" },
      { taskId: "other", status: "unknown", charged: "unknown", resume: "imggen resume other" },
    ]);
  });

  it("--wait polls to the end, --output saves", async () => {
    const world = await commandWorld({ poll: inTurn(stillRunning, stillRunning, completedAt("/1.png")) });
    const args = ["status", "task-1", "--wait", "--poll-interval", "100ms", "--output", "fox.png"];
    const { code, document } = await world.json(args);
    expect([code, document]).toMatchObject([0, { ok: true, status: "completed" }]);
    expect(document.files).toMatchObject([{ path: path.join(world.cwd, "fox.png") }]);
    const waited = await commandWorld({ poll: stillRunning });
    expect((await waited.run(["status", "task-1", "--wait", "--timeout", "100ms"])).code).toBe(6);
  });
});

describe("resume", () => {
  it("says of a task whose images are where they were saved that they already are", async () => {
    const world = await commandWorld();
    const { stdout: saved } = await world.run(["generate", "a fox"]);
    const asked = world.server.requests.length;
    const again = await world.run(["resume", "task-1"]);
    expect(again).toEqual({ code: 0, stdout: saved, stderr: "Already saved: 1 image, 64×48.\n" });
    expect(world.server.requests).toHaveLength(asked);
    const shown = await world.run(["resume", "task-1"], { terminal: true, env: { TERM: "dumb" } });
    expect(shown.stderr).toMatch(/^Already saved a-fox-task1\.png \(64×48\)\n$/);
    await rm(saved.trim());
    expect((await world.run(["resume", "task-1"])).stderr).toMatch(/^Saved 1 image, 64×48, /m);
  });

  it("finishes every charged task that was not saved, and prints their paths", async () => {
    const world = await commandWorld();
    for (const prompt of ["a fox", "a cat"]) await world.run(["generate", prompt, "--no-wait"]);
    const { code, stdout } = await world.run(["resume"]);
    expect(code).toBe(0);
    expect(stdout.trimEnd().split("\n").sort()).toEqual([
      `${world.cwd}/a-cat-task2.png`,
      `${world.cwd}/a-fox-task1.png`,
    ]);
    const requests = world.server.requests.length;
    expect(await world.run(["resume"])).toMatchObject({ code: 0, stdout: "" });
    expect(world.server.requests).toHaveLength(requests);
  });
});

describe("history", () => {
  it("shows 20 by default, and all with --all", async () => {
    const world = await commandWorld();
    for (let at = 0; at < 22; at++) await world.run(["generate", "a fox", "--no-wait", "--again"]);
    expect((await world.json(["history"])).document).toHaveLength(20);
    expect((await world.json(["history", "--all"])).document).toHaveLength(22);
  });
});
