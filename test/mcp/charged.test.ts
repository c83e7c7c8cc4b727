import { describe, expect, it } from "vitest";
import type { Document } from "../support/command-world.ts";
import { generatorWorld, makesImage, modelList, refuses } from "../support/generator-world.ts";
import { runCommand } from "../support/in-process.ts";
import type { Behaviour } from "../support/scripted-server.ts";
import { replies, reset, stillRunning, taskIs } from "../support/scripts.ts";
import { type Answered, agent, FOX, mcpFolders, sandboxAgent, serviceAgent } from "./mcp-world.ts";

/** A reply that is held until the test lets it go. */
function held(answer: Behaviour = makesImage) {
  let open = () => {};
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  const behaviour: Behaviour = (...by) => isOpen.then(() => answer(...by));
  return { behaviour, open };
}

/** An agent with a generator of the user's own, and what the command line says of its newest task. */
async function generatorAgent(generate: Behaviour, flags: readonly string[] = []) {
  const { generator } = await generatorWorld(generate);
  const folders = await mcpFolders();
  const all = ["--generator", generator.origin, ...flags];
  const { call, client } = await agent({ ...folders, flags: [...all, "--max-credits", "100"] });
  const json = async (args: string[]) =>
    JSON.parse((await runCommand([...args, ...all, "--json"], folders)).stdout);
  return { generator, call, client, json };
}

function tasksOf({ document }: Answered): Document[] {
  return Object.values(document.tasks ?? {});
}

const PAID = ["--generator-paid"];
const OWL = { prompt: "an owl", allowUndocumentedCost: true };

describe("charged is the command line's word", () => {
  it.each([
    ["paid", PAID, "unknown", "yes"],
    ["free", [], "no", "no"],
  ])("of a %s generator, while it works and after it, whoever asks", async (_what, flags, running, saved) => {
    const { behaviour, open } = held();
    const { call, json } = await generatorAgent(behaviour, flags);
    const early = await call("generate_image", { ...OWL, waitSeconds: 0 });
    expect(early.document).toMatchObject({ ok: true, status: "running", charged: running });
    const { taskId } = early.document;
    expect(taskId).toEqual(expect.any(String));
    const asked = [
      (await call("get_task", { taskId, waitSeconds: 0 })).document,
      ...tasksOf(await call("resume_tasks", { waitSeconds: 0 })),
      ...tasksOf(await call("history")),
      ...(await json(["history"])),
      await json(["status", String(taskId)]),
    ];
    expect(asked.map((each) => [each.taskId, each.charged])).toEqual(Array(5).fill([taskId, running]));
    open();
    expect((await call("get_task", { taskId })).document).toMatchObject({
      status: "completed",
      charged: saved,
    });
    const late = [
      (await call("get_task", { taskId })).document,
      (await call("generate_image", OWL)).document,
      ...(await json(["history"])),
      await json(["status", String(taskId)]),
    ];
    expect(late.map((each) => [each.taskId, each.charged])).toEqual(Array(4).fill([taskId, saved]));
  });

  it.each([
    ["refused", refuses(400, "invalid_value"), "no"],
    ["of unknown outcome", reset, "unknown"],
  ])("of a task that was %s", async (_what, generate, charged) => {
    const { call, json } = await generatorAgent(generate, PAID);
    const { document } = await call("generate_image", OWL);
    expect(document).toMatchObject({ ok: false, charged });
    const taskId = String(document.taskId);
    const others = [
      (await call("get_task", { taskId, waitSeconds: 0 })).document,
      (await call("get_task", { taskId })).document,
      await json(["status", taskId]),
    ];
    expect(others.map((each) => each.charged)).toEqual([charged, charged, charged]);
  });

  it("of a task that waits for its turn, at no cost so far", async () => {
    const { behaviour, open } = held();
    const { call, json, generator } = await generatorAgent(behaviour, PAID);
    await call("generate_image", { ...OWL, waitSeconds: 0 });
    await expect.poll(() => generator.submits().length).toBe(1);
    const { document } = await call("generate_image", { ...OWL, prompt: "a hare", waitSeconds: 0 });
    expect(document).toMatchObject({ status: "running", taskId: expect.any(String), charged: "no" });
    expect((await json(["history"]))[0]).toMatchObject({ taskId: document.taskId, charged: "no" });
    open();
  });

  it("of a task that failed at a service, and of one in the sandbox", async () => {
    const { call, home, cwd, server } = await serviceAgent({
      poll: taskIs({ status: "failed", errorCode: 7 }),
    });
    expect((await call("generate_image", FOX)).document).toMatchObject({ charged: "unknown" });
    const env = { IMGGEN_BASE_URL: server.baseUrl };
    const { stdout } = await runCommand(["history", "--json"], { home, cwd, env });
    expect(JSON.parse(stdout)).toMatchObject([{ charged: "unknown" }]);
    const sandbox = await sandboxAgent();
    const slow = { ...FOX, prompt: "a fox [sandbox:slow=1m]", waitSeconds: 5 };
    const { document } = await sandbox.call("generate_image", slow);
    const shown = await runCommand(["history", "--json"], sandbox);
    expect(JSON.parse(shown.stdout)).toMatchObject([{ taskId: document.taskId, charged: document.charged }]);
  });

  it("of a service's request whose id is still to come", async () => {
    const { behaviour, open } = held((request, socket) => replies(Buffer.alloc(0))(request, socket));
    const { call, home, cwd, server } = await serviceAgent({ submit: behaviour, poll: stillRunning });
    const { document } = await call("generate_image", { ...FOX, waitSeconds: 0 });
    const env = { IMGGEN_BASE_URL: server.baseUrl };
    const { stdout } = await runCommand(["history", "--json"], { home, cwd, env });
    expect(document).toMatchObject({ status: "submitting", taskId: null, charged: "unknown" });
    expect(JSON.parse(stdout)).toMatchObject([{ taskId: null, charged: "unknown" }]);
    open();
  });
});

describe("the texts of tools", () => {
  const texts = async (client: Awaited<ReturnType<typeof agent>>["client"]) => {
    const { tools } = await client.listTools();
    return new Map(tools.map(({ name, description, inputSchema }) => [name, { description, inputSchema }]));
  };

  it.each([
    [[], "Default model: flux, free of charge."],
    [PAID, "Default model: flux, whose cost is not documented and counts as 8 credits."],
    [["--generator-model", "sdxl"], "Default model: sdxl, free of charge."],
  ])("name the model and cost of a generator (%j)", async (flags, words) => {
    const { client } = await generatorAgent(makesImage, flags);
    const generate = (await texts(client)).get("generate_image");
    expect(generate?.description).toContain(words);
    expect(JSON.stringify(generate?.inputSchema.properties?.model)).toContain(words);
  });

  it("say that a model must be named, and come though the generator is down", async () => {
    const folders = await mcpFolders();
    const { generator } = await generatorWorld(makesImage, modelList("flux", "sdxl"));
    const several = await agent({ ...folders, flags: ["--generator", `openai:${generator.origin}`] });
    expect((await texts(several.client)).get("generate_image")?.description).toMatch(
      /Default model: |Every request must name a model\./,
    );
    const down = await agent({ ...folders, flags: ["--generator", "http://127.0.0.1:9"] });
    expect((await texts(down.client)).get("generate_image")?.description).toContain("Default model: ");
  });

  it("name the default of a service, or the user's", async () => {
    const { client, ...folders } = await sandboxAgent();
    const words = "Default model: vendor1/alpha-2, whose cost is not documented and counts as 8 credits.";
    expect((await texts(client)).get("generate_image")?.description).toContain(words);
    await runCommand(["config", "set", "model", "gamma-image-2"], folders);
    expect((await texts(client)).get("generate_image")?.description).toMatch(
      /Default model: gamma-image-2, 2 to \d+ credits\./,
    );
  });

  it("say of no tool that may submit that it costs nothing, and neither does a next call", async () => {
    const { client, call } = await sandboxAgent();
    const said = await texts(client);
    for (const name of ["generate_image", "get_task", "resume_tasks"])
      expect(JSON.stringify(said.get(name))).not.toMatch(/costs? nothing|at no charge|\bfree\b/i);
    const slow = { ...FOX, prompt: "a fox [sandbox:slow=1m]", waitSeconds: 5 };
    const { document } = await call("generate_image", slow);
    expect(document.next).toMatch(
      /^Call get_task with taskId "[^"]+" to wait for the task and save its image\. No request is charged twice\.$/,
    );
    expect(
      JSON.stringify([
        await call("get_task", { taskId: document.taskId, waitSeconds: 0 }),
        await call("resume_tasks", { waitSeconds: 0 }),
      ]),
    ).not.toMatch(/costs? nothing|at no charge/i);
  });
});
