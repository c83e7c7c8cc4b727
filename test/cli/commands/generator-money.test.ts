import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { agent } from "../../mcp/mcp-world.ts";
import { jsonLines } from "../../support/batch-world.ts";
import { leaveAtGenerator } from "../../support/generator-task.ts";
import { type GeneratorWorld, generatorWorld, makesImage, refuses } from "../../support/generator-world.ts";
import { LINES, WORK } from "../../support/records.ts";
import type { Behaviour } from "../../support/scripted-server.ts";
import { inTurn, reset } from "../../support/scripts.ts";

const { started } = LINES;
const PAID = "--generator-paid";

/** A world whose generator costs 5 credits an image. */
async function pricedWorld(behave: Behaviour = makesImage) {
  const world = await generatorWorld(behave);
  const matrix = path.join(world.cwd, "models.json");
  await writeFile(matrix, JSON.stringify([{ id: "flux", credits: { default: 5 } }]));
  await writeFile(path.join(world.cwd, "rows.txt"), "a fox\n");
  return { ...world, env: { IMGGEN_MATRIX: matrix } };
}

describe("the price of eight images, each of which costs 5 credits", () => {
  it.each([
    [["generate", "a fox", "-n", "8"]],
    [["batch", "rows.txt", "-n", "8"]],
    [["compare", "a fox", "-m", "flux", "-r", "1:1,2:3,3:2,3:4,4:3,9:16,16:9,21:9"]],
  ])("exceeds a cap of 5, and of 39, at %s: nothing is sent", async (command) => {
    const { json, env, generator } = await pricedWorld();
    const error = { type: "budget_exceeded", message: expect.stringContaining("40 credits") };
    for (const cap of ["5", "39"])
      expect(await json([...command, PAID, "--max-credits", cap], { env })).toMatchObject({
        code: 2,
        document: { error },
      });
    expect(generator.submits()).toEqual([]);
  });

  it("exceeds dailyCredits of 39, and is within 40", async () => {
    const { json, run, env, generator } = await pricedWorld();
    const eight = ["generate", "a fox", PAID, "-n", "8"];
    await run(["config", "set", "dailyCredits", "39"]);
    expect((await json(eight, { env })).code).toBe(2);
    expect(generator.submits()).toEqual([]);
    await run(["config", "set", "dailyCredits", "40"]);
    expect((await json(eight, { env })).document).toMatchObject({ ok: true, credits: 40 });
    expect((await json(["generate", "an owl", PAID], { env })).code).toBe(2);
    expect(generator.submits()).toHaveLength(8);
    expect((await json(["history", "--summary"], { env })).document.total).toMatchObject({ credits: 40 });
  });

  it.each([
    ["costs 40 credits, more than 39", "39", true],
    // Of unknown price: each counts as the most expensive of the service.
    ["may cost 64 credits, more than 63", "63", false],
  ])("is asked about above confirmAbove: it %s", async (said, above, isPriced) => {
    const { run, env, generator } = await pricedWorld();
    await run(["config", "set", "confirmAbove", above]);
    const batch = await run(["batch", "rows.txt", PAID, "-n", "8"], isPriced ? { env } : {});
    expect(batch).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
    expect(generator.submits()).toEqual([]);
  });

  it("is told without that of an image that was refused, wherever it is told", async () => {
    const refused = refuses(400, "moderation_blocked");
    const { run, json, env, cwd } = await pricedWorld(inTurn(makesImage, refused, makesImage));
    const batch = ["batch", "rows.txt", "-n", "8", "-o", "pictures/", PAID, "--yes"];
    const summaryOf = async () => jsonLines((await run([...batch, "--json"], { env })).stdout).at(-1);
    expect(await summaryOf()).toMatchObject({ credits: 35 });
    expect(await summaryOf()).toMatchObject({ credits: 0, creditsBefore: 35 });
    const read = async (...args: string[]) => (await json(args, { env })).document;
    expect(await read("history")).toMatchObject([{ credits: 35 }]);
    expect((await read("history", "--summary")).total).toMatchObject({ credits: 35 });
    const file = (await readdir(path.join(cwd, "pictures"))).find((name) => name.endsWith(".png"));
    expect(await read("show", path.join("pictures", String(file)))).toMatchObject({ credits: 35 });
  });

  it("exceeds the cap of an agent's session, where images of unknown price count as the service's most expensive", async () => {
    const { home, cwd, env, generator } = await pricedWorld();
    for (const [cap, options, message] of [
      ["39", { env }, expect.any(String)],
      ["63", {}, expect.stringContaining("this request counts as 64")],
    ] as const) {
      const flags = ["--generator", generator.origin, PAID, "--max-credits", cap];
      const { call } = await agent({ home, cwd, flags, ...options });
      expect(await call("generate_image", { prompt: "a fox", model: "flux", maxImages: 8 })).toMatchObject({
        isError: true,
        document: { error: { type: "budget_exceeded", message } },
      });
    }
    expect(generator.submits()).toEqual([]);
  });
});

describe("a task that was begun as paid, and killed while its request ran", () => {
  async function killed() {
    const world = await generatorWorld();
    await leaveAtGenerator(world, [started], { generator: `openai:${world.generator.origin}/v1` });
    return world;
  }

  it.each<[string, (world: GeneratorWorld) => Promise<unknown>]>([
    ["resume without the flag", ({ json }) => json(["resume"])],
    ["resume --generator-free", ({ json }) => json(["resume", "--generator-free"])],
    [
      "resume with a profile of its own settings",
      async ({ json, run, service }) => {
        const login = ["login", "--profile", "work", "--base-url", service.baseUrl, "--no-verify"];
        await run(login, { input: "sk-work-1234567890\n" });
        await run(["config", "set", "generatorFree", "true", "--profile", "work"]);
        return json(["resume", "--profile", "work"]);
      },
    ],
    ["the same command again, as free", ({ json }) => json(["generate", "a fox", "--generator-free"])],
    [
      "an agent, after the setting changed",
      async ({ home, cwd, run, generator }) => {
        await run(["config", "set", "generatorFree", "true"]);
        const { call } = await agent({ home, cwd, flags: ["--generator", generator.origin] });
        return call("resume_tasks", {});
      },
    ],
  ])("is not sent again by %s", async (_what, continued) => {
    const world = await killed();
    await continued(world);
    expect(world.generator.submits()).toEqual([]);
    const { document } = await world.json(["history", "--unfinished"]);
    expect([document].flat()).toMatchObject([{ state: "unknown", charged: "unknown" }]);
  });

  it("that was free is sent again by resume --generator-paid, and stays free", async () => {
    const world = await generatorWorld();
    const generator = `openai:${world.generator.origin}/v1`;
    await leaveAtGenerator(world, [started], { generator, work: { isPaid: false }, credits: 0 });
    const { document } = await world.json(["resume", PAID]);
    expect(document.tasks).toMatchObject([{ ok: true, charged: "no" }]);
    expect(world.generator.submits()).toHaveLength(1);
  });
});

describe("an earlier request", () => {
  it.each([
    ["--field", "steps=8", "steps=20"],
    ["--generator-side", "512", "640"],
  ])("answers no request that differs in its %s", async (flag, one, other) => {
    const { json, generator } = await generatorWorld();
    const reuse = (value: string) => json(["generate", "a fox", flag, value, "--reuse"]);
    expect((await reuse(one)).document.reused).toBeUndefined();
    expect((await reuse(other)).document.reused).toBeUndefined();
    expect((await reuse(one)).document.reused).toBe(true);
    expect(generator.submits()).toHaveLength(2);
  });

  it("that is unfinished is continued only by one with the same fields", async () => {
    const world = await generatorWorld();
    const generator = `openai:${world.generator.origin}/v1`;
    const options = { model: "flux", width: 1024, height: 1024, sizeForm: null, fields: { steps: 8 } };
    await leaveAtGenerator(world, [], { generator, work: { isPaid: false, options }, credits: 0 });
    const steps = (count: number) => ["generate", "a fox", "--field", `steps=${count}`];
    expect((await world.json(steps(20))).document.reused).toBeUndefined();
    const fields = (await world.json(["rerun", String(WORK.taskId), "--dry-run"])).document.request?.fields;
    expect(fields).toEqual({ steps: 8 });
    const continued = await world.run(steps(8));
    expect(continued.stderr).toMatch(/^Continuing task_\w+, begun earlier; --again submits a new task\.$/m);
  });
});

describe("rerun of what was paid for", () => {
  it.each([
    ["and sent once where its reply is lost", false],
    ["where generatorFree in the config is not for its generator", true],
  ])("is paid too, %s", async (_where, isSet) => {
    const { json, run, generator } = await generatorWorld(inTurn(makesImage, reset));
    const { document } = await json(["generate", "a fox", PAID]);
    if (isSet) await run(["config", "set", "generatorFree", "true"]);
    const again = await json(["rerun", String(document.taskId)]);
    expect(again).toMatchObject({ code: 9, document: { charged: "unknown" } });
    expect(generator.submits()).toHaveLength(2);
  });

  it("is free with --generator-free", async () => {
    const { json } = await generatorWorld();
    const { document } = await json(["generate", "a fox", PAID]);
    const again = await json(["rerun", String(document.taskId), "--generator-free"]);
    expect(again.document).toMatchObject({ ok: true, charged: "no", credits: 0 });
  });
});

describe("what a free generator makes", () => {
  it("is free, and never said to be charged", async () => {
    const { run } = await generatorWorld();
    const first = await run(["generate", "a fox"]);
    expect(first.stderr).toMatch(/^Saved 1 image, 8×6, free, /m);
    const again = await run(["generate", "a fox", "--reuse"]);
    expect(again.stderr).toMatch(/^Already completed as task task_\w+, so nothing was sent\.$/m);
    for (const { stderr } of [first, again]) expect(stderr).not.toMatch(/charge|credits|cost/);
  });
});

describe("a row of a batch that was paid for", () => {
  const BATCH = ["rows.txt", "-m", "flux", "-o", "out"];

  /** A world in which a paid request for a row has ended as the behaviour says. */
  async function rowPaid(behave: Behaviour) {
    const world = await pricedWorld(behave);
    await world.run(["batch", ...BATCH, PAID], world);
    return world;
  }

  it.each([
    ["--resubmit-unknown", inTurn(reset)],
    ["--retry-failed", inTurn(refuses(400, "content_policy_violation"), reset)],
  ])("is paid too with %s, and sent once where its reply is lost", async (flag, behave) => {
    const { run, env, generator } = await rowPaid(behave);
    const { stdout } = await run(["batch", ...BATCH, flag, "--json"], { env });
    expect(JSON.parse(stdout.split("\n")[0] ?? "")).toMatchObject({ charged: "unknown" });
    expect(generator.submits()).toHaveLength(2);
  });

  it("counts with its price toward every limit before it is sent", async () => {
    const { run, env, generator } = await rowPaid(reset);
    const again = ["batch", ...BATCH, "--resubmit-unknown"];
    const stderr = expect.stringContaining("still costs 5 credits, earlier runs may have been charged 5");
    expect(await run([...again, "--max-credits", "9"], { env })).toMatchObject({ code: 2, stderr });
    const dry = jsonLines((await run([...again, "--dry-run", "--json"], { env })).stdout);
    expect(dry).toMatchObject([{ credits: 5 }, { credits: 5, toSubmit: 1 }]);
    await run(["config", "set", "confirmAbove", "4"]);
    expect((await run(again, { env })).stderr).toContain("costs 5 credits, more than 4");
    expect(generator.submits()).toHaveLength(1);
  });

  it.each(["flag", "setting"])("is free where a %s says so", async (place) => {
    const { run, env, generator } = await rowPaid(inTurn(reset, makesImage));
    if (place === "setting") {
      await run(["config", "set", "generator", generator.origin]);
      await run(["config", "set", "generatorFree", "true"]);
    }
    const flags = place === "flag" ? ["--generator-free"] : [];
    const { stdout } = await run(["batch", ...BATCH, "--resubmit-unknown", ...flags, "--json"], { env });
    expect(jsonLines(stdout)[0]).toMatchObject({ ok: true, charged: "no", credits: 0 });
  });
});
