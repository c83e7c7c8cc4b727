import { copyFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { commandWorld, NO_ACCOUNT, submitted } from "../../support/command-world.ts";
import { type Behaviour, failure, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn, late, replies, reset } from "../../support/scripts.ts";

/** A service whose tasks have ids as long as real ones. */
async function longIds(poll: Behaviour = completedAt("/1.png")) {
  let tasks = 0;
  const ids = ["task_3f9c81aa", "task_3f0002bb", "task_81ab02cc"];
  const world = await commandWorld({
    submit: (_request, socket) => void socket.write(success({ taskId: ids[tasks++] })),
    poll,
  });
  for (const prompt of ["a fox", "a hare", "an owl"]) await world.run(["generate", prompt, "--no-wait"]);
  return world;
}

describe("the beginning of a task's id", () => {
  it("will do for status, resume and rerun, and the whole id is shown", async () => {
    const world = await longIds();
    expect((await world.json(["status", "task_3f9"])).document).toMatchObject({ taskId: "task_3f9c81aa" });
    expect((await world.json(["resume", "task_8"])).document).toMatchObject({ taskId: "task_81ab02cc" });
    expect((await world.json(["rerun", "task_3f00", "--dry-run"])).document).toMatchObject({
      request: { prompt: "a hare" },
    });
  });

  it("is not taken for a file of that name, which ./ names", async () => {
    const world = await longIds();
    const other = await world.json(["resume", "task_81ab02cc"]);
    await copyFile(String(other.document.files?.[0]?.path), path.join(world.cwd, "task_3f9c81aa"));
    const prompts = { task_3f9c81aa: "a fox", "./task_3f9c81aa": "an owl" };
    for (const [name, prompt] of Object.entries(prompts))
      expect((await world.json(["rerun", name, "--dry-run"])).document).toMatchObject({
        request: { prompt },
      });
    expect((await world.json(["status", "task_3f9c81aa"])).document).toMatchObject({
      taskId: "task_3f9c81aa",
    });
    expect((await world.run(["show", "task_3f9c81aa"])).stderr).toContain("No image of task task_3f9c81aa");
  });

  it("will do for resume --dismiss", async () => {
    const world = await commandWorld({ submit: reset });
    await world.run(["generate", "a fox"]);
    const id = String((await world.json(["history"])).document[0]?.id);
    expect((await world.json(["resume", id.slice(0, -1), "--dismiss"])).code).toBe(0);
    expect((await world.json(["resume"])).code).toBe(0);
  });

  it("that fits several tasks is refused, and nothing is polled or sent", async () => {
    const world = await longIds();
    const requests = world.server.requests.length;
    for (const command of ["status", "resume", "rerun"]) {
      const { code, document } = await world.json([command, "task_3f"]);
      expect({ code, type: document.error?.type }).toEqual({ code: 2, type: "usage" });
      expect(document.error?.message).toContain("task_3f9c81aa");
    }
    expect(world.server.requests).toHaveLength(requests);
  });
});

describe("an image of a task", () => {
  it("will do for status, as for show and rerun, wherever it was moved; another file is refused", async () => {
    const world = await commandWorld();
    const { document } = await world.json(["generate", "a fox"]);
    await rename(String(document.files?.[0]?.path), path.join(world.cwd, "moved.png"));
    await writeFile(path.join(world.cwd, "other.png"), "mine");
    const { code, document: status } = await world.json(["status", "moved.png"]);
    expect({ code, ...status }).toMatchObject({ code: 0, taskId: "task-1", status: "completed" });
    const requests = world.server.requests.length;
    const refused = await world.json(["status", "other.png"]);
    expect([refused.code, refused.document.error?.type]).toEqual([2, "usage"]);
    expect(world.server.requests).toHaveLength(requests);
  });
});

describe("an id that neither the ledger nor the service knows", () => {
  it.each(["status", "resume"])(
    "%s says so: nothing was charged, and there is nothing to resume",
    async (command) => {
      const world = await commandWorld({ poll: replies(failure("image_generation.error.unknown_error")) });
      const { code, document } = await world.json([command, "nope-nope"]);
      expect({ code, ...document }).toMatchObject({ code: 5, ok: false, charged: "no", resume: null });
      expect(document.error).toMatchObject({
        type: "service_error",
        key: "image_generation.error.unknown_error",
        message: "The service has no task nope-nope.",
      });
      expect(JSON.stringify(document)).not.toContain("imggen resume");
    },
  );

  it.each([
    ["another key", failure("image_generation.error.task_not_found")],
    ["HTTP 404", failure("task_not_found", 404)],
    ["HTTP 400", failure("bad_request", 400)],
  ])("is not said to be charged, or to be resumed, where the service answers %s", async (_what, answer) => {
    const world = await commandWorld({ poll: replies(answer) });
    for (const command of ["status", "resume"]) {
      const { document } = await world.json([command, "nope-nope"]);
      expect(document).toMatchObject({ ok: false, charged: "no", resume: null });
      expect(JSON.stringify(document)).not.toContain("imggen resume");
    }
  });

  it.each(["status", "resume"])("%s of it costs nothing where no service can be asked", async (command) => {
    const world = await commandWorld();
    const { code, document } = await world.json([command, "nope-nope"], {
      env: { IMGGEN_BASE_URL: undefined },
    });
    expect({ code, ...document }).toMatchObject({ code: 2, ok: false, charged: "no", resume: null });
  });

  it("is not said of a task that this machine has charged", async () => {
    const world = await commandWorld({ poll: replies(failure("image_generation.error.generation_failed")) });
    await world.run(["generate", "a fox", "--no-wait"]);
    const { document } = await world.json(["status", "task-1"]);
    expect(document).toMatchObject({ charged: "yes", resume: "imggen resume task-1" });
  });
});

describe("several tasks", () => {
  it("are shown by status in the order in which they were given", async () => {
    const done = completedAt("/1.png");
    const slow = late(300, done);
    const world = await longIds((request, socket) =>
      (request.target.includes("task_81") ? slow : done)(request, socket),
    );
    const { stdout, stderr } = await world.run(["status", "task_81", "task_3f9", "task_3f0"]);
    expect(stdout).toBe("task_81ab02cc  made\ntask_3f9c81aa  made\ntask_3f0002bb  made\n");
    expect(stderr).toContain("Not saved. To save the images: imggen resume task_3f9c81aa\n");
  });

  it("are told by resume one by one as they end, each with its number and id", async () => {
    const world = await longIds();
    const { stderr, stdout } = await world.run(["resume"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(3);
    const lines = stderr.trimEnd().split("\n");
    expect(lines.map((line) => line.slice(0, 9))).toEqual(["1 of 3, t", "2 of 3, t", "3 of 3, t"]);
    for (const id of ["task_3f9c81aa", "task_3f0002bb", "task_81ab02cc"])
      expect(stderr).toMatch(new RegExp(`^\\d of 3, ${id}: saved 1 image, 64×48, .*, \\d`, "m"));
  });

  it("have their ids in resume's errors", async () => {
    const world = await commandWorld({
      file: inTurn(reset, reset, (_request, socket) => void socket.end("HTTP/1.1 404 Gone\r\n\r\n")),
    });
    for (const prompt of ["a fox", "a hare"]) await world.run(["generate", prompt, "--no-wait"]);
    const { code, stderr } = await world.run(["resume"]);
    expect(code).toBe(8);
    expect(stderr).toMatch(/^Task task-[12]: the connection was cut\. Next try in /m);
    expect(stderr).toMatch(/^error: 2 of 2, task-[12]: The image could not be downloaded/m);
  });
});

describe("rerun of what another service was asked for", () => {
  const SANDBOX_IMAGE = ["generate", "a fox", "-m", "z-image", "--sandbox", "-o", "fox.png"];

  it("is refused where that is not the configured one: both are named, and both next steps", async () => {
    const world = await commandWorld();
    await world.run(SANDBOX_IMAGE);
    for (const flags of [[], ["--dry-run"]]) {
      const { code, document } = await world.json(["rerun", "fox.png", ...flags]);
      expect({ code, type: document.error?.type }).toEqual({ code: 2, type: "usage" });
      expect(document.error?.message).toMatch(/sandbox.*127\.0\.0\.1/);
      const [first, second] = String(document.error?.hint).split("\n");
      expect(first).toMatch(/imggen rerun .*fox\.png .*--sandbox$/);
      expect(second).toMatch(/imggen rerun .*fox\.png .*--yes$/);
    }
    expect(world.server.requests).toEqual([]);
  });

  it("is refused where none is configured, with the command that submits it to the sandbox", async () => {
    const world = await commandWorld({}, NO_ACCOUNT);
    await world.run(["generate", "a fox [sandbox:drop]", "-m", "z-image", "--sandbox"]);
    const { document } = await world.json(["history", "--sandbox"]);
    const id = String(document[0]?.id);
    const { stderr } = await world.run(["status", id]);
    expect(stderr).toContain(`To submit it again: imggen rerun ${id} --sandbox\n`);
    expect((await world.json(["rerun", id])).document.error).toMatchObject({
      message: "This request was submitted to the sandbox, but no service is configured.",
      hint: expect.stringMatching(/^To submit the request to the sandbox: imggen rerun .* --sandbox$/),
    });
  });

  it("is submitted to the configured one with --yes, and to the sandbox with --sandbox", async () => {
    const world = await commandWorld();
    await world.run(SANDBOX_IMAGE);
    expect((await world.run(["rerun", "fox.png", "--sandbox", "-o", "again.png"])).code).toBe(0);
    expect(world.server.requests).toEqual([]);
    expect((await world.run(["rerun", "fox.png", "--yes", "-o", "charged.png"])).code).toBe(0);
    expect(submitted(world)).toEqual([{ prompt: "a fox", model: "z-image" }]);
  });

  it("is refused between two real services too", async () => {
    const [here, there] = [await commandWorld(), await commandWorld()];
    await here.run(["generate", "a fox", "--no-wait"]);
    const { code, stderr } = await here.run(["rerun", "task-1"], {
      env: { IMGGEN_BASE_URL: there.server.baseUrl },
    });
    expect(code).toBe(2);
    expect(stderr).toContain(`IMGGEN_BASE_URL=${here.server.baseUrl}`);
    expect(stderr).toContain(there.server.baseUrl);
    expect(there.server.requests).toEqual([]);
  });
});
