import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { formatLine } from "../../../src/store/task-file.ts";
import { jsonLines } from "../../support/batch-world.ts";
import { type ComfyGraph, type ComfyOptions, comfyDouble, workflow } from "../../support/comfyui.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";
import { GONE, ledgerOf, openTasks } from "../../support/left-task.ts";

/** A world whose commands use a ComfyUI server, with a workflow beside them. */
async function comfyWorld({ graph = workflow(), ...options }: ComfyOptions & { graph?: ComfyGraph } = {}) {
  const double = await comfyDouble(options);
  const world = await commandWorld({}, { IMGGEN_GENERATOR: `comfyui:${double.url}`, ...NO_ACCOUNT });
  const file = path.join(world.cwd, "fox.json");
  await writeFile(file, JSON.stringify(graph));
  return {
    ...world,
    double,
    file,
    /** Of each job that was sent, the inputs of a node. */
    inputs: (id: string) => double.submits.map(({ prompt }) => prompt[id]?.inputs),
    copies: () => readdir(path.join(world.home, "state", "workflows")).catch(() => []),
  };
}

/** Where the image of a task goes. */
const pathOf = (taskId: unknown) =>
  expect.stringMatching(new RegExp(`/a-fox-${String(taskId).slice(-8)}\\.png$`));

const FOX = ["generate", "a fox", "--workflow", "fox.json"];

describe("generate with ComfyUI", () => {
  it("saves the image of a workflow, free of charge, and keeps the workflow by its digest", async () => {
    const { json, double, inputs, copies } = await comfyWorld();
    const { code, document } = await json([...FOX, "-r", "16:9"]);
    expect(code).toBe(0);
    expect(document).toMatchObject({ ok: true, status: "completed", credits: 0, charged: "no" });
    expect(document.files).toMatchObject([{ width: 9, height: 6 }]);
    expect(inputs("6")).toMatchObject([{ text: "a fox" }]);
    expect(inputs("5")).toMatchObject([{ width: 1024, height: 576 }]);
    expect(double.worked).toBe(1);
    const [copy = ""] = await copies();
    expect(copy).toMatch(/^[\da-f]{64}\.json$/);
    const history = await json(["history"]);
    expect(history.document).toMatchObject([{ service: `comfyui:${double.url}` }]);
  });

  it("says of an image that was deleted at the server that it is no longer there", async () => {
    const { json, double } = await comfyWorld();
    double.areFilesGone = true;
    const { code, document } = await json(FOX);
    const message = expect.stringContaining("the file no longer exists, HTTP 404");
    expect({ code, error: document.error }).toMatchObject({
      code: 8,
      error: { type: "save_failed", message },
    });
    expect(document.error?.hint).not.toContain("is not lost");
  });

  it("says of an equal request whose first file is gone that ComfyUI has it in its cache, and ends it", async () => {
    const { json, double } = await comfyWorld();
    const made = await json([...FOX, "--seed", "7"]);
    expect((await json([...FOX, "--seed", "7"])).code).toBe(0);
    double.areFilesGone = true;
    const message = expect.stringMatching(
      /reused the cached image.*imggen_00001_\.png no longer exists[\s\S]*cache.*another seed/,
    );
    expect(await json(["rerun", String(made.document.taskId)])).toMatchObject({
      code: 5,
      document: { charged: "no", error: { type: "generation_failed", message } },
    });
    expect((await json(["resume"])).code).toBe(0);
    expect(double.worked).toBe(1);
  });

  it("leaves it unknown what a paid workflow without an image has cost, and keeps the reply", async () => {
    const graph = workflow({ "12": { class_type: "FluxProNode", inputs: { prompt: "x", seed: 1 } } });
    const { json } = await comfyWorld({ graph, images: 0, classes: { FluxProNode: { api_node: true } } });
    const { code, document } = await json(FOX);
    expect([code, document.error?.type, document.charged]).toEqual([9, "outcome_unknown", "unknown"]);
    const [, folder = ""] =
      /without an image of its output node\b.* kept in (\S+)\.$/m.exec(String(document.error?.message)) ?? [];
    expect(await readFile(path.join(folder, "result"), "utf8")).toContain("success");
    expect((await json(["resume", String(document.taskId)])).code).toBe(9);
  });

  it("says how far the image is, and how many are before it, and saves it as soon as it is there", async () => {
    const { run, double } = await comfyWorld({ isHeld: true });
    const said = (id: string) => {
      double.say(id, "execution_cached", { prompt_id: id, nodes: ["4", "5", "6"] });
      double.release();
      double.say(id, "execution_success", { prompt_id: id });
    };
    const listening = setInterval(() => double.clients().slice(0, 1).map(said), 20);
    const { code, stderr } = await run([...FOX, "--progress", "json", "--poll-interval", "60s"]);
    clearInterval(listening);
    expect(code).toBe(0);
    const events = jsonLines(stderr.replace(/^[^{].*\n/gm, ""));
    expect(events).toContainEqual(expect.objectContaining({ type: "progress", share: 3 / 26 }));
  });

  it("uses the only checkpoint without a workflow, and asks for one of several", async () => {
    const one = await comfyWorld();
    expect(await one.json(["generate", "a fox"])).toMatchObject({ code: 0 });
    expect(one.inputs("1")).toEqual([{ ckpt_name: "dream.safetensors" }]);
    const two = await comfyWorld({ checkpoints: ["a.ckpt", "dream.safetensors"] });
    const error = { hint: expect.stringMatching(/Models: a\.ckpt, dream\.safetensors/) };
    expect(await two.json(["generate", "a fox"])).toMatchObject({ code: 2, document: { error } });
    expect(await two.json(FOX)).toMatchObject({ code: 0 });
  });

  it("shows in a dry run what goes where, and connects to nothing", async () => {
    const { run, json, double, copies } = await comfyWorld();
    const { code, stdout } = await run([...FOX, "--dry-run", "--field", "3.steps=8"]);
    expect(code).toBe(0);
    expect(stdout).toContain('node "CLIP Text Encode (Prompt)" (6) (CLIPTextEncode).text = "a fox"\n');
    expect(stdout).toContain('node "KSampler" (3) (KSampler).steps = 8\n');
    const { document } = await json([...FOX, "--dry-run"]);
    expect(document.sent?.workflow).toContainEqual(
      expect.stringMatching(/^node "KSampler" \(3\) \(KSampler\)\.seed = "<seed>"$/),
    );
    expect([double.requests, await copies()]).toEqual([[], []]);
  });

  it("takes the workflow of the config, and refuses one for another generator", async () => {
    const { run, json, double, inputs, file } = await comfyWorld();
    expect(await run(["config", "set", "generator", `comfyui:${double.url}`])).toMatchObject({ code: 0 });
    expect(await run(["config", "set", "workflow", "fox.json"])).toMatchObject({ code: 0 });
    expect((await json(["config", "get", "workflow"])).document).toMatchObject({ value: file });
    expect(await json(["generate", "a fox"])).toMatchObject({ code: 0 });
    expect(inputs("6")).toMatchObject([{ text: "a fox" }]);
    await writeFile(file, "{}");
    expect(await run(["config", "set", "workflow", "fox.json"])).toMatchObject({ code: 2 });
    expect(await json([...FOX, "--generator", "http://127.0.0.1:9"])).toMatchObject({
      code: 2,
      document: { error: { message: "--workflow is for a ComfyUI server." } },
    });
  });

  it("reruns with the task's workflow, whatever became of its file", async () => {
    const { json, inputs, file, copies } = await comfyWorld();
    const rerun = ["rerun", String((await json([...FOX, "--output", "fox.png"])).document.taskId)];
    await writeFile(file, JSON.stringify(workflow({ "3": { inputs: { steps: 99 } } })));
    for (const flags of [
      ["--output", "again.png"],
      ["--workflow", "fox.json"],
    ])
      expect((await json([...rerun, ...flags])).code).toBe(0);
    expect(inputs("3").map((each) => each?.steps)).toEqual([20, 20, 99]);
    expect((await copies()).length).toBe(2);
  });
});

describe("a task at ComfyUI that is not waited for", () => {
  it("is waiting or accepted as its server has it, and saved by other commands", async () => {
    const { json, run, double } = await comfyWorld({ isHeld: true });
    const { code, document } = await json([...FOX, "--no-wait"]);
    const id = String(document.taskId);
    expect([code, document.status]).toEqual([0, "submitted"]);
    const looked = async () => (await json(["status", id])).document;
    expect(await looked()).toMatchObject({ status: "running", state: "waiting" });
    expect(await run(["status", id])).toMatchObject({ code: 6, stdout: `${id}  waiting\n` });
    double.begin();
    expect(await looked()).toMatchObject({ status: "running", state: "accepted" });
    double.release();
    expect(await looked()).toMatchObject({ status: "completed" });
    // Under the name that the command would have given it.
    const tasks = [{ taskId: id, files: [{ path: pathOf(id) }] }];
    expect(await json(["resume"])).toMatchObject({ code: 0, document: { tasks } });
    expect(double.submits.length).toBe(1);
  });

  it("goes on at the server after Ctrl-C, and is saved by resume", async () => {
    const { json, double } = await comfyWorld({ isHeld: true });
    const stop = new AbortController();
    double.onTaken = () => setTimeout(() => stop.abort(new InterruptedError("SIGINT")), 100);
    expect(await json(FOX, { signal: stop.signal })).toMatchObject({ code: 130 });
    double.release();
    expect(await json(["resume"])).toMatchObject({ code: 0, document: { tasks: [{ status: "completed" }] } });
    expect(double.submits.length).toBe(1);
  });
});

/** A workflow with a node that has its work done elsewhere, for money. */
const PAID = {
  graph: workflow({ "12": { class_type: "FluxProNode", inputs: {} } }),
  classes: { FluxProNode: { api_node: true } },
} as const satisfies ComfyOptions & { graph: ComfyGraph };

/** What a process has left of a task when it was killed: the lines of its file up to the last of this type. */
async function killedAt(
  type: "intent" | "started" | "accepted",
  options: ComfyOptions & { graph?: ComfyGraph } = {},
) {
  const world = await comfyWorld({ isHeld: true, ...options });
  const { document } = await world.json([...FOX, "--no-wait"]);
  const [id = ""] = await openTasks(world.home);
  const file = path.join(ledgerOf(world.home).folder, "open", `${id}.jsonl`);
  const text = await readFile(file, "utf8");
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const left = lines.slice(0, lines.findLastIndex((line) => line.type === type) + 1);
  const until = new Date(Date.now() + 60_000).toISOString();
  const gone = ({ owner, by }: { owner?: object; by?: object }) => ({
    ...(owner && { owner: GONE, until }),
    ...(by && { by: GONE, until }),
  });
  await writeFile(file, left.map((line) => formatLine({ ...line, ...gone(line) })).join(""));
  // What is left must not depend on the file.
  await writeFile(world.file, "{}");
  return { ...world, taskId: String(document.taskId) };
}

const SAVED = { code: 0, document: { tasks: [{ status: "completed" }] } };

describe("a job that a restart of ComfyUI has lost", () => {
  it("is submitted again where it is free, and its image is saved", async () => {
    const { json, double } = await comfyWorld({ isHeld: true });
    double.onTaken = () => {
      if (double.submits.length === 1) setImmediate(() => double.restart());
      else double.release();
    };
    const { code, document } = await json(FOX);
    expect([code, document.status, double.submits.length]).toEqual([0, "completed", 2]);
    const [first, second] = double.submits;
    expect(second).toEqual(first);
  });

  it("is submitted again by resume, and never by status", async () => {
    const { json, double } = await comfyWorld({ isHeld: true });
    const id = String((await json([...FOX, "--no-wait"])).document.taskId);
    double.restart();
    const hint = expect.stringContaining("To submit it again: imggen resume");
    const error = {
      type: "pending",
      message: expect.stringContaining("waits to be submitted again: "),
      hint,
    };
    expect(await json(["status", id, "--wait", "--output", "fox.png"])).toMatchObject({
      code: 6,
      document: { charged: "no", error },
    });
    expect(double.submits.length).toBe(1);
    double.release();
    expect(await json(["resume"])).toMatchObject(SAVED);
    expect(double.submits.length).toBe(2);
  });

  it("stays accepted where it is paid, and is saved if the server has it again", async () => {
    const { json, double } = await comfyWorld({ isHeld: true, ...PAID });
    const id = String((await json([...FOX, "--no-wait"])).document.taskId);
    double.instead.set("queue", { queue_running: [], queue_pending: [] });
    const error = { message: expect.stringContaining("no longer has the job") };
    const lost = { ok: false, state: "accepted", charged: "yes", error };
    expect((await json(["resume", id])).document).toMatchObject(lost);
    double.instead.clear();
    double.release();
    expect(await json(["resume"])).toMatchObject(SAVED);
    expect(double.submits.length).toBe(1);
  });
});

describe("a task at ComfyUI whose process was killed", () => {
  it.each(["intent", "started", "accepted"] as const)(
    "after %s is saved by resume, and sent once",
    async (type) => {
      const { json, double, inputs } = await killedAt(type);
      if (type === "intent") {
        double.restart();
        double.submits.length = 0;
      }
      double.release();
      expect(await json(["resume"])).toMatchObject(SAVED);
      expect(double.submits.length).toBe(1);
      expect(inputs("6")).toMatchObject([{ text: "a fox" }]);
    },
  );

  it("before the server had its free job is submitted again by resume, after 30 s of no such job", async () => {
    const { json, double } = await killedAt("started");
    double.restart();
    double.release();
    expect(await json(["resume"])).toMatchObject(SAVED);
    expect(double.submits.length).toBe(2);
  });

  it("is reported by status at once, however little the server knows of its job", async () => {
    const { json, double, taskId } = await killedAt("started");
    double.restart();
    double.requests.length = 0;
    expect(await json(["status", taskId])).toMatchObject({ code: 6, document: { state: "waiting" } });
    expect(double.requests.map(({ target }) => target.replace(/[\da-f-]{36}/, "id"))).toEqual([
      "/queue",
      "/history/id",
    ]);
  });

  it("with a paid job that the server does not have is of unknown outcome, until resume finds it there", async () => {
    const { json, double, taskId } = await killedAt("started", PAID);
    double.instead.set("queue", { queue_running: [], queue_pending: [] });
    expect(await json(["resume"])).toMatchObject({ code: 9 });
    expect(await json(["resume", taskId])).toMatchObject({ code: 9, document: { state: "unknown" } });
    double.instead.clear();
    double.release();
    expect(await json(["resume", taskId])).toMatchObject({ code: 0, document: { charged: "yes" } });
    expect(double.submits.length).toBe(1);
  });
});

describe("cancel of a task at ComfyUI", () => {
  it.each(["accepted", "started"] as const)(
    "takes one that was %s out of the server's queue",
    async (type) => {
      const { json, double, taskId } = await killedAt(type);
      expect(await json(["cancel", taskId])).toMatchObject({ code: 0 });
      double.release();
      expect(double.worked).toBe(0);
      expect(await json(["history"])).toMatchObject({ document: [{ status: "cancelled" }] });
      double.requests.length = 0;
      expect(await json(["status", taskId])).toMatchObject({ code: 5, document: { status: "cancelled" } });
      expect(double.requests).toEqual([]);
    },
  );
});

describe("a workflow without a place for a prompt", () => {
  const UPSCALER: ComfyGraph = {
    "1": { class_type: "LoadImage", inputs: { image: "x.png" } },
    "2": { class_type: "ImageScaleBy", inputs: { image: ["1", 0], upscale_method: "lanczos", scale_by: 2 } },
    "3": { class_type: "SaveImage", inputs: { filename_prefix: "up", images: ["2", 0] } },
  };
  const CLASSES = { ImageScaleBy: {}, LoadImage: {} };

  it("is used with a reference image, and says that the prompt has no effect", async () => {
    const { json, inputs, cwd } = await comfyWorld({ graph: UPSCALER, classes: CLASSES });
    await writeFile(path.join(cwd, "small.png"), PICTURE);
    const { code, document } = await json([...FOX, "--image", "small.png"]);
    expect([code, document.error?.message]).toEqual([0, undefined]);
    expect(inputs("1")[0]?.image).toMatch(/^imggen\//);
    expect(document.warnings).toContain(
      "The workflow does not support a prompt, so the prompt has no effect on the image.",
    );
  });

  it("is refused without one, and with a seed that it has no place for", async () => {
    const { json, cwd, double } = await comfyWorld({ graph: UPSCALER, classes: CLASSES });
    await writeFile(path.join(cwd, "small.png"), PICTURE);
    expect((await json(FOX)).code).toBe(2);
    const { code, document } = await json([...FOX, "--image", "small.png", "--seed", "7"]);
    expect([code, document.error?.message]).toEqual([2, expect.stringContaining("no input for seed")]);
    expect(double.submits).toEqual([]);
  });
});

describe("--dry-run with a workflow", () => {
  const without = (id: string) =>
    Object.fromEntries(Object.entries(workflow()).filter(([each]) => each !== id));
  const SAVER = { class_type: "SaveImage" };
  const saving = (Object.entries(workflow()).find(([, node]) => node.class_type === "SaveImage") ?? [""])[0];

  it.each<[string, ComfyGraph]>([
    ["has 2 nodes that save images", { ...workflow(), "90": { ...SAVER, inputs: { images: ["8", 0] } } }],
    ["has no node that saves an image", without(saving)],
  ])("that %s is refused as without it", async (why, graph) => {
    const { json, double, cwd, home } = await comfyWorld({ graph });
    await writeFile(path.join(cwd, "p.txt"), "a fox");
    const [, , ...flags] = FOX;
    const message = (await json(FOX)).document.error?.message;
    expect(message).toContain(why);
    double.requests.length = 0;
    for (const args of [FOX, ["batch", "p.txt", ...flags], ["compare", "a fox", ...flags]])
      expect(await json([...args, "--dry-run"])).toMatchObject({ code: 2, document: { error: { message } } });
    expect([double.requests, double.submits]).toEqual([[], []]);
    expect(await readdir(path.join(home, "state", "tasks")).catch(() => [])).toEqual([]);
  });

  it("of classes that only the server knows is not judged", async () => {
    const graph = { ...without(saving), "90": { class_type: "FancySaver", inputs: { images: ["8", 0] } } };
    expect((await (await comfyWorld({ graph })).json([...FOX, "--dry-run"])).code).toBe(0);
  });
});
