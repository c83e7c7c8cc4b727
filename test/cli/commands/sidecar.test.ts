import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { VERSION } from "../../../src/lib/version.ts";
import { type CommandWorld, commandWorld, submitted } from "../../support/command-world.ts";
import { PICTURE, sha256 } from "../../support/images.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const FOX = ["generate", "a fox", "-m", "gamma-image-2", "-q", "2K", "-o", "fox.png"];
const FOX_REQUEST = { prompt: "a fox", model: "gamma-image-2", quality: "2K" };

const readJson = async (world: CommandWorld, name: string) =>
  JSON.parse(await readFile(path.join(world.cwd, name), "utf8"));

/** Another machine: nothing in its ledger, and the image `fox.png` with its sidecar in its current folder. */
async function onAnotherMachine(world: CommandWorld, change: (sidecar: object) => object = (same) => same) {
  const home = await temporaryFolder();
  const cwd = path.join(home, "work");
  await mkdir(cwd);
  await copyFile(path.join(world.cwd, "fox.png"), path.join(cwd, "renamed.png"));
  const sidecar = change(await readJson(world, "fox.png.json"));
  await writeFile(path.join(cwd, "renamed.png.json"), JSON.stringify(sidecar));
  return { home, cwd };
}

describe("--sidecar", () => {
  it("writes what was requested, charged and saved, beside the image", async () => {
    const world = await commandWorld();
    const { document } = await world.json([...FOX, "--sidecar"]);
    expect(await readJson(world, "fox.png.json")).toEqual({
      imggen: VERSION,
      taskId: "task-1",
      service: world.server.baseUrl,
      request: FOX_REQUEST,
      credits: 4,
      submittedAt: document.submittedAt,
      completedAt: document.completedAt,
      mediaType: "image/png",
      bytes: PICTURE.length,
      sha256: sha256(PICTURE),
      width: 64,
      height: 48,
    });
    expect(await readdir(world.cwd)).toEqual(["fox.png", "fox.png.json"]);
  });

  it("is not written unless it is asked for, and always where the config says so", async () => {
    const world = await commandWorld();
    await world.run(FOX);
    expect(await readdir(world.cwd)).toEqual(["fox.png"]);
    await world.run(["config", "set", "sidecar", "true"]);
    await world.run(["generate", "an owl", "-o", "owl.png"]);
    expect(await readdir(world.cwd)).toEqual(["fox.png", "owl.png", "owl.png.json"]);
  });

  it.each([
    ["batch", ["batch", "prompts.txt", "--output", "made/", "--name", "{slug}.{ext}", "--sidecar"]],
    ["compare", ["compare", "a fox", "-m", "z-image", "-o", "made", "--name", "{slug}.{ext}", "--sidecar"]],
  ])("%s writes one for each image", async (_command, args) => {
    const world = await commandWorld();
    await writeFile(path.join(world.cwd, "prompts.txt"), "a fox\n");
    await world.run(args);
    expect(await readdir(path.join(world.cwd, "made"))).toContain("a-fox.png.json");
  });

  it("is written by resume, where the request that asked for it was not waited for", async () => {
    const world = await commandWorld();
    await world.run([...FOX, "--sidecar", "--no-wait"]);
    await world.run(["resume"]);
    expect(await readJson(world, "fox.png.json")).toMatchObject({ taskId: "task-1", request: FOX_REQUEST });
  });

  it("does not hold the query of a reference image, which may be a signature", async () => {
    const world = await commandWorld();
    await world.run([...FOX, "--sidecar", "--image", "https://cdn.example/in.png?signature=abc"]);
    const { request } = await readJson(world, "fox.png.json");
    expect(request.image).toBe("https://cdn.example/in.png?…");
  });

  it("never replaces another file, and says so; --overwrite replaces it", async () => {
    const world = await commandWorld();
    const other = path.join(world.cwd, "fox.png.json");
    await writeFile(other, "mine");
    const { code, document } = await world.json([...FOX, "--sidecar"]);
    expect({ code, warnings: document.warnings }).toEqual({
      code: 0,
      warnings: [`No sidecar was written: ${other} exists already.`],
    });
    expect(await readFile(other, "utf8")).toBe("mine");
    await world.run([...FOX, "--sidecar", "--overwrite"]);
    expect(await readJson(world, "fox.png.json")).toMatchObject({ taskId: "task-2" });
  });

  it("never replaces an image of the same batch, with --overwrite neither", async () => {
    const world = await commandWorld();
    const rows = ["fox.png.json", "fox.png"].map((output) => JSON.stringify({ prompt: "a fox", output }));
    await writeFile(path.join(world.cwd, "rows.jsonl"), rows.join("\n"));
    const batch = ["batch", "rows.jsonl", "-o", "made", "--overwrite", "--sidecar", "--concurrency", "1"];
    expect(await world.run(batch)).toMatchObject({ code: 0 });
    expect(await readFile(path.join(world.cwd, "made", "fox.png.json"))).toEqual(PICTURE);
  });

  it("that cannot be written is a warning: the image is saved, and the exit code is 0", async () => {
    const world = await commandWorld();
    // With `.json` the name is longer than a disk takes.
    const image = `${"f".repeat(247)}.png`;
    const { code, document } = await world.json([...FOX.slice(0, -1), image, "--sidecar"]);
    expect(code).toBe(0);
    expect(document.warnings).toEqual([
      expect.stringMatching(/^No sidecar was written to .+f\.png\.json: .+ The image is saved\.$/),
    ]);
    expect(await readdir(world.cwd)).toEqual([image]);
  });
});

describe("rerun of an image with a sidecar", () => {
  it("submits its request again, on a machine whose ledger does not know it", async () => {
    const world = await commandWorld();
    await world.run([...FOX, "--sidecar"]);
    const { code } = await world.run(["rerun", "renamed.png"], await onAnotherMachine(world));
    expect({ code, sent: submitted(world) }).toEqual({ code: 0, sent: [FOX_REQUEST, FOX_REQUEST] });
  });

  it.each([
    ["an image that was changed since", () => ({ sha256: "0".repeat(64) }), "the file was changed"],
    [
      "a request without a prompt",
      () => ({ request: { model: "z-image" } }),
      "imggen did not save this image",
    ],
    [
      "a prompt that is no text",
      () => ({ request: { prompt: 1, model: "z-image" } }),
      "imggen did not save this image",
    ],
    [
      "a reference image whose query is not known",
      () => ({ request: { ...FOX_REQUEST, image: "https://a.example/1.png?…" } }),
      "omits the part of the URL after",
    ],
    ["another service", () => ({ service: "https://other.example/api" }), "but http"],
  ])("refuses %s; nothing is sent", async (_what, change, message) => {
    const world = await commandWorld();
    await world.run([...FOX, "--sidecar"]);
    const elsewhere = await onAnotherMachine(world, (sidecar) => ({ ...sidecar, ...change() }));
    const { code, stderr } = await world.run(["rerun", "renamed.png"], elsewhere);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(world.server.submits()).toHaveLength(1);
  });

  it("does not tell to send a key to the service that a sidecar names", async () => {
    const world = await commandWorld();
    await world.run([...FOX, "--sidecar"]);
    const elsewhere = await onAnotherMachine(world, (sidecar) => ({
      ...sidecar,
      service: "https://e.example",
    }));
    const { stderr } = await world.run(["rerun", "renamed.png"], elsewhere);
    expect(stderr).toContain("This request was submitted to https://e.example");
    expect(stderr).not.toContain("IMGGEN_BASE_URL");
  });
});
