import { describe, expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";
import { stillRunning } from "../../support/scripts.ts";

describe("status without ids", () => {
  it("has nothing to ask where nothing is open", async () => {
    const { run, json, server } = await commandWorld();
    await run(["generate", "a fox"]);
    const before = server.requests.length;
    expect(await run(["status"])).toMatchObject({ code: 0, stdout: "", stderr: "No task is unfinished.\n" });
    expect(await json(["status"])).toMatchObject({ code: 0, document: { ok: true, tasks: [] } });
    expect(server.requests).toHaveLength(before);
  });

  it("polls every open task of real services once, and submits nothing", async () => {
    const { run, server } = await commandWorld({ poll: stillRunning });
    for (const prompt of ["a fox", "an owl"]) await run(["generate", prompt, "--no-wait"]);
    await run(["generate", "a hare", "-m", "z-image", "--sandbox", "--no-wait"]);
    const before = server.requests.length;
    const { code, stdout } = await run(["status"]);
    expect(code).toBe(6);
    expect(stdout).toBe("task-2  accepted\ntask-1  accepted\n");
    const sent = server.requests.slice(before);
    expect(sent.map(({ method }) => method)).toEqual(["GET", "GET"]);
  });

  it("--json is one document, also of one task", async () => {
    const { run, json } = await commandWorld({ poll: stillRunning });
    await run(["generate", "a fox", "--no-wait"]);
    expect(await json(["status"])).toMatchObject({
      code: 6,
      document: { ok: true, tasks: [{ ok: true, taskId: "task-1", status: "running" }] },
    });
  });

  it("--sandbox polls the sandbox's", async () => {
    const { run, json, server } = await commandWorld({ poll: stillRunning });
    await run(["generate", "a fox", "--no-wait"]);
    await run(["generate", "a hare", "-m", "z-image", "--sandbox", "--no-wait"]);
    const before = server.requests.length;
    const { document } = await json(["status", "--sandbox"]);
    expect(document.tasks).toHaveLength(1);
    expect(server.requests).toHaveLength(before);
  });
});

describe("history with words", () => {
  it("searches as --search does", async () => {
    const { run, json } = await commandWorld();
    for (const prompt of ["a red fox", "a red owl", "a fox"]) await run(["generate", prompt]);
    const { document } = await json(["history", "fox", "red"]);
    expect(document).toMatchObject([{ taskId: "task-1" }]);
    expect(document).toEqual((await json(["history", "--search", "fox red"])).document);
  });

  it("takes no --search beside them", async () => {
    const { run } = await commandWorld();
    expect(await run(["history", "fox", "--search", "owl"])).toMatchObject({ code: 2 });
  });
});
