import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { buildPng } from "../../lib/image/builders.ts";
import { comfyDouble, workflow } from "../../support/comfyui.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { BFL } from "../../support/doubles/bfl.ts";
import { serviceDouble } from "../../support/doubles/double.ts";
import { png } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { json as jsonReply, response } from "../../support/scripted-server.ts";

const SKETCH = buildPng(768, 512);

/** A server of OpenAI's form and AUTOMATIC1111's, with a sketch beside the commands and at a URL. */
async function sketchWorld(sketch = SKETCH) {
  const server = await liveServer(({ method, target }, socket) => {
    if (target.endsWith("/sketch.png")) return void socket.write(response(200, sketch));
    if (method !== "POST") return void socket.write(jsonReply({ detail: "Not Found" }, 404));
    const base64 = png().toString("base64");
    socket.write(jsonReply({ images: [base64], data: [{ b64_json: base64 }] }));
  });
  const world = await commandWorld({}, NO_ACCOUNT);
  await writeFile(path.join(world.cwd, "sketch.png"), sketch);
  const generate = async (kind: string, ...flags: string[]) => {
    const spec = ["--generator", `${kind}:${server.origin}`];
    const { code, document } = await world.json([
      "generate",
      "a fox",
      "--image",
      "sketch.png",
      ...spec,
      ...flags,
    ]);
    expect([code, document.error?.message]).toEqual([0, undefined]);
    const body = server.submits().at(-1)?.body ?? "";
    if (kind === "sdapi") return (({ width, height }) => `${width}x${height}`)(JSON.parse(body));
    return /name="size"\r\n\r\n(\S+)/.exec(body)?.[1];
  };
  return { ...world, server, generate };
}

describe("an image made from another one", () => {
  it("has its shape at a server of AUTOMATIC1111's form, as large as side and quality say", async () => {
    const { generate } = await sketchWorld();
    expect(await generate("sdapi")).toBe("1024x680");
    expect(await generate("sdapi", "--generator-side", "512")).toBe("512x344");
    expect(await generate("sdapi", "--quality", "2K")).toBe("2048x1368");
    expect(await generate("sdapi", "--ratio", "1:1")).toBe("1024x1024");
  });

  it("has that shape where it is at a URL, or is very wide", async () => {
    const { json, server, generate } = await sketchWorld(buildPng(2000, 3));
    expect(await generate("sdapi")).toBe("1024x8");
    const spec = `sdapi:${server.origin}`;
    await json(["generate", "a fox", "--image", `${server.origin}/sketch.png`, "--generator", spec]);
    expect(JSON.parse(server.submits().at(-1)?.body ?? "")).toMatchObject({ width: 1024, height: 8 });
  });

  it("has it at a server of OpenAI's form, rounded as its model needs", async () => {
    const { generate } = await sketchWorld();
    expect(await generate("openai")).toBe("1024x680");
    expect(await generate("openai", "-m", "gpt-image-2", "--no-validate")).toBe("1040x688");
    expect(await generate("openai", "-m", "gpt-image-1", "--no-validate")).toBe("1536x1024");
    expect(await generate("openai", "-m", "gpt-image-2", "--no-validate", "-r", "auto")).toBe("auto");
  });

  it("has it at Black Forest Labs, in steps of 32", async () => {
    const double = await serviceDouble(BFL);
    const { json } = await sketchWorld();
    const env = { IMGGEN_GENERATOR_KEY: "k" };
    const args = ["generate", "a fox", "--image", "sketch.png", "--generator", double.spec, "-m", BFL.model];
    expect((await json(args, { env })).code).toBe(0);
    expect(JSON.parse(double.submits()[0]?.body ?? "")).toMatchObject({ width: 1024, height: 672 });
  });

  it("has it at ComfyUI where a size is sent, and the workflow's own where none is", async () => {
    const load = { class_type: "LoadImage", inputs: { image: "x.png" } };
    const double = await comfyDouble();
    const { json, cwd } = await sketchWorld();
    await writeFile(path.join(cwd, "fox.json"), JSON.stringify(workflow({ "10": load })));
    const spec = ["--generator", `comfyui:${double.url}`, "--workflow", "fox.json"];
    const args = ["generate", "a fox", "--image", "sketch.png", ...spec];
    for (const flags of [[], ["-q", "2K"]]) expect((await json([...args, ...flags])).code).toBe(0);
    expect(double.submits.map(({ prompt }) => prompt["5"]?.inputs)).toMatchObject([
      { width: 512, height: 768 },
      { width: 2048, height: 1368 },
    ]);
  });

  it("has it where a command gets {width} and {height}", async () => {
    const { json, cwd } = await sketchWorld();
    const script = path.join(cwd, "paint");
    await writeFile(path.join(cwd, "picture.png"), png());
    const lines = ["#!/bin/sh", `echo "$1 $2" > ${cwd}/size`, `cp ${cwd}/picture.png "$4"`, ""];
    await writeFile(script, lines.join("\n"), { mode: 0o755 });
    const spec = `command:${script} {width} {height} {promptFile} {output} {image}`;
    await json(["generate", "a fox", "--image", "sketch.png", "--generator", spec]);
    expect(await readFile(path.join(cwd, "size"), "utf8")).toBe("1024 680\n");
  });

  it("has the saved ratio, which counts as given", async () => {
    const { run, generate, server } = await sketchWorld();
    await run(["config", "set", "generator", `sdapi:${server.origin}`]);
    await run(["config", "set", "ratio", "1:2"]);
    expect(await generate("sdapi")).toBe("512x1024");
  });

  it("is shown in a dry run with its size, or as large as an image at a URL", async () => {
    const { json, run, server } = await sketchWorld();
    const args = ["generate", "a fox", "--generator", `sdapi:${server.origin}`, "--dry-run"];
    const file = await json([...args, "--image", "sketch.png"]);
    expect(file.document).toMatchObject({ sent: { body: { width: 1024, height: 680 } } });
    expect(file.document).not.toHaveProperty("size");
    const url = ["--image", "https://example.com/sketch.png"];
    const { document } = await json([...args, ...url]);
    expect(document.size).toBe("as the reference image");
    expect(document.sent?.body).not.toHaveProperty("width");
    expect((await run([...args, ...url])).stdout).toContain("size: as the reference image\n");
    expect((await run([...args, ...url, "-r", "1:1"])).stdout).not.toContain("as the reference image");
    const command = "command:/bin/paint {promptFile} {width} {output} {image}";
    const words = (await run([...args, ...url, "--generator", command])).stdout;
    expect(words).toContain("'<width>'");
  });
});
