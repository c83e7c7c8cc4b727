import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { startSandbox } from "../../../src/sandbox/server.ts";
import { batchWorld, foxes } from "../../support/batch-world.ts";
import { comfyDouble, workflow } from "../../support/comfyui.ts";
import { commandWorld, type Document } from "../../support/command-world.ts";
import { generatorWorld } from "../../support/generator-world.ts";

const FOX = ["generate", "a fox", "-m", "gamma-image-2", "-q", "4K", "--sandbox"];
const FREE = { credits: 0, charged: "no" };

describe("the sandbox is free in every figure of JSON", () => {
  it("of a task, of its history and of its sidecar", async () => {
    const world = await commandWorld();
    const made = await world.json([...FOX, "--sidecar", "-o", "fox.png"]);
    expect([made.code, made.document]).toMatchObject([0, FREE]);
    expect((await world.json([...FOX, "--dry-run"])).document).toMatchObject({ credits: 0 });
    expect((await world.json(["history", "--sandbox"])).document).toMatchObject([FREE]);
    expect((await world.json(["history", "--sandbox", "--summary"])).document.total).toMatchObject({
      credits: 0,
    });
    const sidecar = await readFile(path.join(world.cwd, "fox.png.json"), "utf8").catch(() =>
      readFile(path.join(world.cwd, "fox.json"), "utf8"),
    );
    expect(JSON.parse(sidecar)).toMatchObject({ credits: 0 });
  });

  it.each(["fail", "500", "drop", "subscription"])("of a task that meets [sandbox:%s]", async (directive) => {
    const world = await commandWorld();
    const { document, code } = await world.json(["generate", `a fox [sandbox:${directive}]`, "--sandbox"]);
    expect(document).toMatchObject({ ok: false, charged: "no" });
    const { stderr } = await world.run(["generate", `an owl [sandbox:${directive}]`, "--sandbox"]);
    expect([code > 0, stderr]).toEqual([true, expect.not.stringMatching(/charged|credits/)]);
  });

  it.each(["", " [sandbox:fail]", " [sandbox:slow=9s]"])(
    "of an id that the ledger does not know%s",
    async (directive) => {
      const world = await commandWorld();
      const { document } = await world.json([...FOX, "--no-wait"].with(1, `a fox${directive}`));
      const id = document.taskId as unknown as string;
      await rm(path.join(world.home, "state", "tasks"), { recursive: true });
      for (const args of [["status"], ["status", "-o", "out/"], ["resume", "--timeout", "1s"]]) {
        const command = [args[0] ?? "", id, ...args.slice(1), "--sandbox"];
        const said = (await world.json(command)).document;
        // An error has no cost.
        expect(said).toMatchObject(said.error ? { charged: "no" } : FREE);
        const { stdout, stderr } = await world.run(command);
        expect(stdout + stderr).not.toMatch(/charged|credits|cost unknown/);
      }
    },
  );

  it("of a comparison and a batch, before and after, whatever the models cost", async () => {
    const world = await batchWorld();
    const compared = await world.json([
      "compare",
      "a fox",
      "-m",
      "gamma-image-2,z-image",
      "--sandbox",
      "-o",
      "c",
    ]);
    const cells = compared.document.cells as unknown as Document[];
    expect([compared.document.credits, ...cells]).toMatchObject([0, FREE, FREE]);
    await world.manifest("p.txt", ...foxes(3));
    const batch = ["batch", "p.txt", "-m", "gamma-image-2", "-q", "4K", "--sandbox", "-o", "out"];
    await world.run(["config", "set", "confirmAbove", "1"]);
    const { code, stdout, stderr } = await world.run([...batch, "--json"]);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([code, ...lines]).toMatchObject([0, FREE, FREE, FREE, { credits: 0, creditsBefore: 0 }]);
    expect(stderr).not.toContain("confirmAbove");
    const again = await world.run([...batch, "--json", "--max-credits", "0"]);
    expect(JSON.parse(again.stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
      credits: 0,
      creditsBefore: 0,
    });
  });

  it("but not of a sandbox that is addressed by its URL", async () => {
    const world = await commandWorld();
    const sandbox = await startSandbox({ folder: path.join(world.home, "served") });
    const env = { IMGGEN_BASE_URL: sandbox.baseUrl, IMGGEN_API_KEY: "sk-sandbox" };
    const args = FOX.filter((word) => word !== "--sandbox");
    expect((await world.json(args, { env })).document).toMatchObject({ credits: 8, charged: "yes" });
    await sandbox.close();
  });
});

describe("a free generator is free in every word", () => {
  it("of the command that submits a sandbox's image to it", async () => {
    const double = await comfyDouble();
    const world = await commandWorld();
    await writeFile(path.join(world.cwd, "fox.json"), JSON.stringify(workflow()));
    const { document } = await world.json([...FOX, "-o", "fox.png"]);
    const env = { IMGGEN_GENERATOR: `comfyui:${double.url}`, IMGGEN_BASE_URL: undefined };
    const id = String(document.taskId);
    const { stderr } = await world.run(["rerun", id, "--workflow", "fox.json"], { env });
    expect(stderr).toContain(`To submit the request to comfyui:${double.url}: imggen rerun`);
    expect(stderr).not.toContain("charge");
    const paid = await world.run(["rerun", id, "--workflow", "fox.json", "--generator-paid"], { env });
    expect(paid.stderr).toContain("which may charge for it: imggen rerun");
  });

  it("of a batch whose rows are of unknown outcome", async () => {
    const world = await generatorWorld((_request, socket) => void socket.resetAndDestroy());
    await writeFile(path.join(world.cwd, "p.txt"), "a fox\n");
    const { stderr } = await world.run(["batch", "p.txt", "-o", "out"]);
    expect(stderr).not.toMatch(/may have been charged|new charge/);
  });
});
