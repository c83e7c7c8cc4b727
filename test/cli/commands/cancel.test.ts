import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { jsonLines } from "../../support/batch-world.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { leaveAtGenerator } from "../../support/generator-task.ts";
import { IMAGE_REPLY } from "../../support/generator-world.ts";
import { GONE, ledgerOf } from "../../support/left-task.ts";
import { LINES } from "../../support/records.ts";

const { started, accepted, unknown, completed } = LINES;
const FREE = { isPaid: false };

const generatorWorld = () => commandWorld({}, { ...NO_ACCOUNT, IMGGEN_GENERATOR: "http://127.0.0.1:9" });

describe("imggen cancel", () => {
  it("ends what waits, and says that nothing was charged", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [], { work: { taskId: "task_fox" } });
    expect(await world.run(["cancel", "task_fox"])).toEqual({
      code: 0,
      stdout: "task_fox  cancelled, nothing was charged\n",
      stderr: "",
    });
    const status = { taskId: "task_fox", status: "cancelled", charged: "no" };
    expect((await world.json(["history"])).document).toMatchObject([status]);
    expect((await world.json(["history", "--status", "cancelled"])).document).toMatchObject([status]);
    expect((await world.json(["history", "--status", "failed"])).document).toEqual([]);
    const error = { message: "Task task_fox has no image: it was cancelled." };
    expect(await world.json(["status", "task_fox"])).toMatchObject({
      code: 5,
      document: { ...status, ok: false, error },
    });
    expect(await world.run(["resume"])).toMatchObject({
      code: 0,
      stderr: "Nothing to resume: no task is unfinished.\n",
    });
    expect(await world.run(["cancel", "task_fox"])).toMatchObject({
      code: 0,
      stdout: "task_fox  not cancelled: already finished (cancelled)\n",
    });
  });

  it("without ids lists what can be cancelled, and sends nothing", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [], { work: { taskId: "task_one" } });
    await leaveAtGenerator(world, [started, unknown], { work: { taskId: "task_two" } });
    const before = (await world.json(["history"])).document;
    expect(await world.run(["cancel"])).toEqual({
      code: 0,
      stdout: "task_one  waiting  a fox\n",
      stderr: "To cancel all of them: imggen cancel --all\n",
    });
    const { code, document } = await world.json(["cancel"]);
    expect([code, document]).toMatchObject([0, { ok: true, tasks: [{ taskId: "task_one" }] }]);
    expect(document.tasks?.length).toBe(1);
    expect((await world.json(["history"])).document).toEqual(before);
  });

  it("--all takes no ids, and asks about paid tasks before anything is sent", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [], { work: { ...FREE, taskId: "task_free" } });
    await leaveAtGenerator(world, [], { work: { taskId: "task_paid" } });
    expect(await world.run(["cancel", "--all", "task_free"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--all cannot be combined with task ids."),
    });
    expect(await world.run(["cancel", "--all"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("would cancel 2 tasks, 1 paid. Nothing was sent."),
    });
    expect((await world.json(["cancel"])).document.tasks?.length).toBe(2);
    expect(await world.json(["cancel", "--all", "--yes"])).toMatchObject({
      code: 0,
      document: { ok: true, tasks: [{ taskId: "task_paid" }, { taskId: "task_free" }] },
    });
    expect(await world.json(["cancel", "--all"])).toMatchObject({
      code: 0,
      document: { ok: true, tasks: [] },
    });
  });

  it("--all asks nothing where all tasks are free, and leaves those of a running server alone", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [], { work: { ...FREE, taskId: "task_free" } });
    const work = { ...FREE, taskId: "task_served", ...({ server: "abc" } as object) };
    await leaveAtGenerator(world, [], { work });
    const server = await ledgerOf(world.home, { ...GONE, scope: "elsewhere" }).servers.join("abc");
    const { code, stdout, stderr } = await world.run(["cancel", "--all"]);
    expect([code, stdout]).toEqual([0, "task_free  cancelled, nothing was charged\n"]);
    expect(stderr).toBe("1 task belongs to a running imggen serve. To cancel one: imggen cancel <taskId>\n");
    server.end();
  });

  it("under --json is one object for one task", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [started], { work: { ...FREE, taskId: "task_fox" } });
    const { code, document } = await world.json(["cancel", "task_fox"]);
    expect([code, document]).toMatchObject([
      0,
      { ok: true, taskId: "task_fox", status: "cancelled", charged: "no", cancelled: 1 },
    ]);
    expect(document.state).toBeUndefined();
  });

  it("of several tasks is one line each, in their order, and the worst exit code", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [], { work: { taskId: "task_one" } });
    await leaveAtGenerator(world, [started, accepted], { work: { taskId: "task_two" } });
    await leaveAtGenerator(world, [started, unknown], { work: { taskId: "task_three" } });
    const ids = ["task_one", "task_two", "task_three"];
    const { code, stdout } = await world.run(["cancel", ...ids, "--json"]);
    expect(jsonLines(stdout)).toMatchObject([
      { ok: true, taskId: "task_one", charged: "no" },
      { ok: false, taskId: "task_two", state: "accepted", charged: "yes", error: { type: "pending" } },
      { ok: false, taskId: "task_three", state: "unknown", error: { type: "outcome_unknown" } },
    ]);
    expect(code).toBe(6);
    expect((await world.run(["cancel", "task_three"])).code).toBe(9);
  });

  it("says of a paid request whose reply can come no more that its outcome is unknown", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [started], { work: { taskId: "task_fox" } });
    const { code, document } = await world.json(["cancel", "task_fox"]);
    expect([code, document]).toMatchObject([
      9,
      { ok: false, state: "unknown", charged: "unknown", error: { type: "outcome_unknown" }, cancelled: 0 },
    ]);
    const { message, hint } = (await world.json(["status", "task_fox"])).document.error ?? {};
    expect(document.error).toMatchObject({ message, hint });
  });

  it("ends what waits of a task one of whose replies can come no more", async () => {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [{ ...started, request: 0 }], {
      work: { taskId: "task_fox", requests: 3 },
    });
    expect(await world.json(["cancel", "task_fox"])).toMatchObject({
      code: 9,
      document: { state: "unknown", cancelled: 2 },
    });
  });

  it("leaves a paid request in flight, and says how it goes on", async () => {
    const world = await generatorWorld();
    const id = await leaveAtGenerator(world, [started], { work: { taskId: "task_fox" } });
    const folder = ledgerOf(world.home).work.attemptFolder(id, 0, "1.0");
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "reply"), IMAGE_REPLY.subarray(0, -20));
    const { code, stderr, stdout } = await world.run(["cancel", "task_fox"]);
    expect([code, stdout]).toEqual([6, ""]);
    expect(stderr).toContain(
      "Task task_fox was not cancelled: its request is in flight, and may be charged.",
    );
    expect(stderr).toContain("It may have been charged. Resume with: imggen resume task_fox");
    expect((await world.run(["cancel", "task_fox", "--wait"])).code).toBe(9);
  });

  it("ends what waits of a task that has made something, which resume saves", async () => {
    const world = await generatorWorld();
    const made = { ...completed, urls: [], request: 0 };
    await leaveAtGenerator(world, [{ ...started, request: 0 }, made], {
      work: { taskId: "task_fox", requests: 3 },
    });
    expect(await world.run(["cancel", "task_fox"])).toEqual({
      code: 0,
      stdout: "task_fox  cancelled (2 of 3 requests), completed images are charged\n",
      stderr: "To save the completed images: imggen resume task_fox\n",
    });
  });
});
