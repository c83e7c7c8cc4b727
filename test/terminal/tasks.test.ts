import path from "node:path";
import { describe, expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { runProgram } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import type { Behaviour } from "../support/scripted-server.ts";
import { byTask, completedAt, inTurn, stillRunning } from "../support/scripts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Tasks of a scripted service that were submitted and not waited for: running when they are first polled. */
async function unfinished(prompts: string[], script?: Behaviour) {
  const folder = await temporaryFolder();
  const running = Array(4 * prompts.length).fill(stillRunning);
  const server = await liveService(PICTURE, { poll: script ?? inTurn(...running, completedAt("/1.png")) });
  const env = {
    IMGGEN_HOME: path.join(folder, "home"),
    IMGGEN_BASE_URL: server.baseUrl,
    IMGGEN_API_KEY: "sk-terminal",
  };
  for (const prompt of prompts)
    expect((await runProgram(["generate", prompt, "--no-wait"], { env, cwd: folder })).code).toBe(0);
  return { env, cwd: folder };
}

const OFTEN = ["--poll-interval", "400ms"];

describe.skipIf(!hasScreen)("tasks on a real terminal", () => {
  it("status --wait shows that it waits, and then what to do with a task that is not saved", async () => {
    const world = await unfinished(["a fox"]);
    const screen = await Screen.start(["status", "task-1", "--wait", ...OFTEN], { columns: 80, ...world });
    await screen.shows(/^\S Generating/m);
    expect(await screen.end()).toBe(0);
    expect(await screen.lines()).toEqual([
      "task-1  made",
      "Not saved. To save the images: imggen resume task-1",
    ]);
  });

  it.each([80, 40])(
    "status --wait shows in %d columns how many of several are finished, and which",
    async (columns) => {
      const poll = byTask(stillRunning, { "task-2": completedAt("/1.png") });
      const world = await unfinished(["a fox", "a hare", "an owl"], poll);
      const args = ["status", "task-1", "task-2", "task-3", "--wait", ...OFTEN];
      const screen = await Screen.start(args, { columns, ...world });
      await screen.shows(/^\S 1 of 3 tasks finished\n {2}finished: task2\n {2}running: task1, task3$/m);
      await screen.type("C-c");
      expect(await screen.end()).toBe(130);
      const end = (await screen.lines()).join("\n");
      expect(end.match(/Interrupted/g)).toHaveLength(1);
      expect(end).toMatch(/2 tasks\s+are not\s+finished yet:\n {2}task-1\n {2}task-3\n {2}Resume with:/);
    },
  );

  it("resume shows how many are finished and which run, and a line for each that names its file once", async () => {
    const world = await unfinished(["a fox", "a hare"]);
    const screen = await Screen.start(["resume", ...OFTEN], { columns: 80, ...world });
    await screen.shows(/^\S 0 of 2 tasks finished\n {2}running: task[12], task[12]$/m);
    expect(await screen.end()).toBe(0);
    const lines = await screen.lines();
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^✓ 1 of 2, task-[12]: saved a-\w+-task[12]\.png \(64×48, /);
    expect(lines[1]).toMatch(/^✓ 2 of 2, task-[12]: saved /);
  });

  it("Ctrl-C where login asks for the key ends it with exit 130, and stores nothing", async () => {
    const home = path.join(await temporaryFolder(), "home");
    const args = ["login", "--base-url", "https://service.example/api"];
    const screen = await Screen.start(args, { columns: 80, env: { IMGGEN_HOME: home } });
    await screen.shows(/API key for service\.example: ?$/);
    await screen.type("s", "k", "C-c");
    expect(await screen.end()).toBe(130);
    expect((await screen.lines()).join("\n")).not.toContain("sk");
  });
});
