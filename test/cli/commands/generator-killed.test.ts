import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import type { ProcessIdentity } from "../../../src/lib/processes.ts";
import { Tickets } from "../../../src/lib/tickets.ts";
import { formatLine } from "../../../src/store/task-file.ts";
import { generatorWorld, IMAGE_REPLY, makesImage, refuses } from "../../support/generator-world.ts";
import { GONE, ledgerOf, openTasks } from "../../support/left-task.ts";
import { LINES } from "../../support/records.ts";
import { inTurn } from "../../support/scripts.ts";
import { withConfig } from "../../support/settings-file.ts";

const FOX = ["generate", "a fox", "--generator-paid"];

interface Killed {
  command?: string[];
  /** The process that has it; default: one that has ended. */
  by?: ProcessIdentity;
}

/** A world with a paid task of `a fox` that a process has begun, and left at these lines when it was killed. */
async function killed(types: readonly "started"[], { command = ["generate", "a fox"], by }: Killed = {}) {
  const world = await generatorWorld(inTurn(refuses(524, "timeout"), makesImage));
  await writeFile(path.join(world.cwd, "foxes.txt"), "a fox\n");
  // The task is one whose reply was lost, without its end.
  await world.run([...command, "--generator-paid"]);
  const [id = ""] = await openTasks(world.home);
  const ledger = ledgerOf(world.home);
  const file = path.join(ledger.folder, "open", `${id}.jsonl`);
  const [line = ""] = (await readFile(file, "utf8")).split("\n");
  const intent = JSON.parse(line);
  await rm(ledger.work.folder, { recursive: true });
  const lines = types.map((type) => ({ ...LINES[type], at: intent.at }));
  await writeFile(file, [intent, ...lines].map(formatLine).join(""));
  if (by) {
    const tickets = new Tickets(
      path.join(ledger.folder, "holders"),
      { self: by, isAlive: () => true },
      systemClock,
    );
    await tickets.take(`holder-${intent.holder}`, 60_000);
  }
  const keep = async (reply: Buffer) => {
    const folder = ledger.work.attemptFolder(id, 0, "1.0");
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "reply"), reply);
  };
  return { ...world, id, taskId: intent.taskId, keep, prompts: () => world.prompts().slice(1) };
}

describe("a task at a generator whose process was killed", () => {
  it.each(
    [["resume"], FOX].flatMap((command) => [
      ["before anything was sent", "sends it", command, false] as const,
      ["after its reply had arrived", "saves it, and sends nothing", command, true] as const,
    ]),
  )("%s it %s: imggen %s", async (_when, _what, command, hasReply) => {
    const { json, keep, taskId, prompts } = await killed(hasReply ? ["started"] : []);
    if (hasReply) await keep(IMAGE_REPLY);
    const { code, document } = await json(command);
    const report = document.tasks?.[0] ?? document;
    const saved = { taskId, status: "completed", charged: "yes", files: [{ url: null }] };
    expect({ code, report }).toMatchObject({ code: 0, report: saved });
    expect(prompts()).toEqual(hasReply ? [] : ["a fox"]);
  });

  it.each([["resume"], FOX])(
    "after a paid request was sent: %s says that it may have been charged, and sends nothing",
    async (...command) => {
      const { json, prompts } = await killed(["started"]);
      for (let time = 1; time <= 2; time += 1) expect((await json(command)).code).toBe(9);
      expect(prompts()).toEqual([]);
    },
  );

  it("is not said to have been charged earlier, which nobody knows", async () => {
    const waiting = await killed([]);
    const words = `Continuing ${waiting.taskId}, begun earlier; --again submits a new task.`;
    expect((await waiting.run(FOX)).stderr).toContain(words);
    const { code, stderr } = await (await killed(["started"])).run(FOX);
    expect([code, stderr]).toEqual([9, expect.not.stringMatching(/charged earlier|was charged/)]);
  });

  it("after a paid request was sent is of unknown outcome wherever it is shown, and nothing is written for that", async () => {
    const { json, run, home, id, taskId } = await killed(["started"]);
    const file = path.join(ledgerOf(home).folder, "open", `${id}.jsonl`);
    const before = await readFile(file, "utf8");
    const unknown = { taskId, status: "unknown", state: "unknown", charged: "unknown" };
    expect((await json(["history"])).document).toMatchObject([unknown]);
    expect((await json(["history", "--unfinished"])).document).toMatchObject([unknown]);
    expect((await json(["history", "--status", "unknown"])).document).toMatchObject([unknown]);
    expect((await json(["history", "--status", "running"])).document).toEqual([]);
    expect(await json(["status", taskId])).toMatchObject({
      code: 9,
      document: { ok: false, state: "unknown", charged: "unknown", error: { type: "outcome_unknown" } },
    });
    expect((await run(["doctor"])).stdout).toContain("The outcome of 1 request is unknown.");
    expect(await readFile(file, "utf8")).toBe(before);
  });

  it("after a paid request was sent can be dismissed at once", async () => {
    const { json, home, taskId } = await killed(["started"]);
    expect(await json(["resume", taskId, "--dismiss"])).toMatchObject({ code: 0 });
    expect(await openTasks(home)).toEqual([]);
    expect((await json(["history"])).document).toMatchObject([{ taskId, status: "unknown" }]);
  });

  it("with its reply on the disk, or a living process, cannot be dismissed", async () => {
    const kept = await killed(["started"]);
    await kept.keep(IMAGE_REPLY);
    const alive = await killed(["started"], { by: { ...GONE, host: "another", scope: "another" } });
    const answers = [
      { code: 2, message: `Task ${kept.taskId} cannot be dismissed: its status is running.` },
      { code: 6, message: expect.stringMatching(`^A process on host another .* task ${alive.taskId}\\.$`) },
    ];
    for (const [at, { json, taskId, home }] of [kept, alive].entries()) {
      expect((await json(["history"])).document).toMatchObject([{ status: "running" }]);
      const { code, document } = await json(["resume", taskId, "--dismiss"]);
      expect({ code, message: document.error?.message }).toEqual(answers[at]);
      expect(await openTasks(home)).toHaveLength(1);
    }
  });

  it("while its reply arrived may have been charged, and what there is of it is kept", async () => {
    const { json, keep, prompts } = await killed(["started"]);
    await keep(IMAGE_REPLY.subarray(0, -20));
    const task = { charged: "unknown", error: { message: expect.stringMatching(/kept in .*work/) } };
    expect(await json(["resume"])).toMatchObject({ code: 9, document: { tasks: [task] } });
    expect(prompts()).toEqual([]);
  });

  it("before anything was sent is sent by its batch, of whose cost it is a part", async () => {
    const { run, prompts } = await killed([], { command: ["batch", "foxes.txt"] });
    const { code, stderr } = await run(["batch", "foxes.txt", "--generator-paid"]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("1 row") });
    expect(prompts()).toEqual(["a fox"]);
  });

  it("after a paid request was sent is named by its batch, and sent again only if the user asks for that", async () => {
    const { run, prompts } = await killed(["started"], { command: ["batch", "foxes.txt"] });
    expect(await run(["batch", "foxes.txt", "--generator-paid"])).toMatchObject({ code: 10 });
    expect(prompts()).toEqual([]);
  });
});

describe("resume of a task at a generator", () => {
  it.each([
    ["--generator", "comfyui:"],
    ["--generator", "npm:nowhere-to-be-found"],
    ["--generator-side", "wide"],
    ["--generator-field", "steps"],
    ["--generator-concurrency", "0"],
  ])("refuses %s %s as a usage error, before it looks at any task", async (...flags) => {
    for (const lines of [[], ["started"]] as const) {
      const { json, prompts } = await killed(lines);
      const { code, document } = await json(["resume", ...flags]);
      expect({ code, ...document }).toMatchObject({ code: 2, ok: false, error: { type: "usage" } });
      expect(document.tasks).toBeUndefined();
      expect(prompts()).toEqual([]);
    }
  });

  it.each([
    [{ IMGGEN_GENERATOR: "comfyui:" }, {}],
    [{ IMGGEN_GENERATOR: "npm:nowhere-to-be-found" }, {}],
    [{ IMGGEN_GENERATOR: undefined }, { generator: "comfyui:http://127.0.0.1:9", generatorSide: "wide" }],
  ])("is not kept from its own by what is malformed about another one: %j %j", async (env, config) => {
    const world = await killed([]);
    await withConfig(world, config);
    const tasks = [{ taskId: world.taskId, status: "completed", charged: "yes" }];
    expect(await world.json(["resume"], { env })).toMatchObject({ code: 0, document: { tasks } });
  });

  it("says what is malformed about its own", async () => {
    const world = await killed([]);
    await withConfig(world, { generator: `openai:${world.generator.origin}/v1`, generatorSide: "wide" });
    const error = { message: expect.stringContaining("generatorSide from config.json") };
    const env = { IMGGEN_GENERATOR: undefined };
    expect(await world.json(["resume"], { env })).toMatchObject({
      code: 2,
      document: { tasks: [{ error }] },
    });
  });
});
