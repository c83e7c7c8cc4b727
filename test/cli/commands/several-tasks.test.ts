import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { commandWorld } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";
import { type ServiceScript, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, reset, stillRunning } from "../../support/scripts.ts";

/** Two tasks that were submitted and not waited for. */
async function twoTasks(script: ServiceScript = {}) {
  const world = await commandWorld(script);
  for (const prompt of ["a fox", "an owl"]) await world.run(["generate", prompt, "--no-wait"]);
  return { ...world, output: path.join(world.cwd, "one.png") };
}

describe("one file cannot take several tasks", () => {
  it.each([[["resume"]], [["resume", "task-1", "task-2"]], [["status", "task-1", "task-2"]]])(
    "%j --output one.png is refused before anything is fetched",
    async (args) => {
      const { run, server, output, cwd } = await twoTasks();
      const { code, stderr } = await run([...args, "--output", output, "--overwrite"]);
      expect(code).toBe(2);
      expect(stderr).toContain("2 tasks cannot be saved to");
      expect(await readdir(cwd)).toEqual([]);
      expect(server.requests.filter(({ target }) => target.startsWith("/files"))).toEqual([]);
    },
  );

  it("the same task twice is one", async () => {
    const { run, output } = await twoTasks();
    expect(await run(["resume", "task-1", "task-1", "--output", output])).toMatchObject({ code: 0 });
    expect((await readFile(output)).equals(PICTURE)).toBe(true);
  });
});

describe("a signal while status --wait waits for several tasks", () => {
  it("has those that are left named first, before those that have finished behind one of them", async () => {
    const signal = new AbortController();
    const { run } = await twoTasks({
      poll(request, socket) {
        const isFirst = request.target.includes("task-1");
        (isFirst ? stillRunning : completedAt("/1.png"))(request, socket);
        if (!isFirst) setTimeout(() => signal.abort(new InterruptedError("SIGINT")), 100);
      },
    });
    const { code, stderr } = await run(["status", "task-1", "task-2", "--wait"], { signal: signal.signal });
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /^Interrupted by SIGINT\. 1 task is not finished yet:\n {2}task-1\n {2}Resume with: .*\n/,
    );
  });

  it("does not name a request that was lost: there is nothing to wait for", async () => {
    const signal = new AbortController();
    const { run } = await commandWorld({ submit: inTurn(replies(success({ taskId: "task-1" })), reset) });
    await run(["generate", "a fox", "--no-wait"]);
    const { stdout } = await run(["generate", "an owl", "--json"]);
    const [id = ""] = /\d{8}T\d{9}-[\da-f]{8}/.exec(stdout) ?? [];
    signal.abort(new InterruptedError("SIGINT"));
    const { stderr } = await run(["status", "task-1", id, "--wait"], { signal: signal.signal });
    expect(stderr).toContain("1 task is not finished yet:\n  task-1\n  Resume with: ");
  });

  it("gives no command that would fill the screen with ids", async () => {
    const signal = new AbortController();
    const { run } = await commandWorld({
      poll(request, socket) {
        stillRunning(request, socket);
        signal.abort(new InterruptedError("SIGINT"));
      },
    });
    const ids = Array.from({ length: 100 }, (_, index) => `task-${index + 1}`);
    const { stderr } = await run(["status", ...ids, "--wait"], { signal: signal.signal });
    expect(stderr).toContain("100 tasks are not finished yet:\n  task-1\n");
    expect(stderr).toContain("and 80 more");
    expect(stderr).toContain("  To resume, run the same command again.\n");
    expect(stderr).not.toContain("Resume with: ");
  });
});

describe("a task that is saved already", () => {
  it.each(["status", "resume"])("is saved once more where %s --output says", async (command) => {
    const { run, output } = await twoTasks();
    await run(["resume"]);
    expect((await run([command, "task-1", "--output", output])).code).toBe(0);
    expect((await readFile(output)).equals(PICTURE)).toBe(true);
  });
});
