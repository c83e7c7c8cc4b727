import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { comfyDouble, workflow } from "../support/comfyui.ts";
import { programWorld } from "../support/program-world.ts";

/** The built program with a ComfyUI server as its generator, and a workflow. */
async function comfyWorld() {
  const double = await comfyDouble({ isHeld: true });
  const world = await programWorld(null, { IMGGEN_API_KEY: undefined });
  const file = path.join(world.folder, "fox.json");
  await writeFile(file, JSON.stringify(workflow()));
  return { double, world, flags: ["--generator", `comfyui:${double.url}`, "--workflow", file] };
}

it("a job at ComfyUI is followed by its messages, and its image is saved as soon as it is there", async () => {
  const { double, world, flags } = await comfyWorld();
  const running = world.generate([...flags, "--poll-interval", "60s", "--progress", "json"]);
  while (double.clients().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const [id = ""] = double.clients();
  double.say(id, "execution_cached", { prompt_id: id, nodes: ["4", "5", "6"] });
  double.release();
  double.say(id, "execution_success", { prompt_id: id });
  const result = await running;
  expect(await world.aftermath(result)).toMatchObject({ exit: 0, charged: "no", open: [], done: ["saved"] });
  expect(result.stderr).toMatch(/"share":0\.42/);
  expect(double.submits.length).toBe(1);
});

it.each(["before", "after"] as const)(
  "a program that is killed %s ComfyUI's reply leaves its job to resume",
  async (when) => {
    const { double, world, flags } = await comfyWorld();
    const taken = new Promise<void>((resolve) => {
      double.onTaken = resolve;
    });
    double.cuts = (_method, target) => when === "before" && target === "/prompt";
    const program = world.start(world.generateArgs(flags));
    const ended = new Promise((resolve) => program.once("exit", resolve));
    await taken;
    if (when === "after")
      while (double.clients().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    program.kill("SIGKILL");
    await ended;
    double.cuts = () => false;
    double.release();
    expect(await world.afterResume()).toMatchObject({ exit: 0, open: [], done: ["saved"] });
    expect(double.submits.length).toBe(1);
  },
);
