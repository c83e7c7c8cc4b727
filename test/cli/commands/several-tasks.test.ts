import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";

/** Two tasks that were submitted and not waited for. */
async function twoTasks() {
  const world = await commandWorld();
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
      expect(stderr).toContain("2 tasks are to be saved");
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

describe("a task that is saved already", () => {
  it.each(["status", "resume"])("is saved once more where %s --output says", async (command) => {
    const { run, output } = await twoTasks();
    await run(["resume"]);
    expect((await run([command, "task-1", "--output", output])).code).toBe(0);
    expect((await readFile(output)).equals(PICTURE)).toBe(true);
  });
});

describe("an exact file name", () => {
  it("that leaves no room for its extension is refused before anything is sent", async () => {
    const { run, server } = await commandWorld();
    const { code, stderr } = await run(["generate", "a fox", "--output", "x".repeat(253)]);
    expect(code).toBe(2);
    expect(stderr).toContain("longer than 255 bytes");
    expect(server.submits()).toEqual([]);
  });
});
