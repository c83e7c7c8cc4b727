import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { chosenSeed } from "../../../src/providers/seeds.ts";
import { comfyDouble } from "../../support/comfyui.ts";
import { commandWorld, type Document, NO_ACCOUNT } from "../../support/command-world.ts";

import { FAL } from "../../support/doubles/fal.ts";
import { png } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { paidService } from "../../support/paid-service.ts";
import { json as jsonReply, response } from "../../support/scripted-server.ts";

const LONG = "15860307465884635512";

/** A server of AUTOMATIC1111's form: it takes a seed, or has one of its own, and says which. */
async function sdapiWorld(own: readonly (number | string)[] = [LONG, 5, 6, 7, 8]) {
  const server = await liveServer((request, socket) => {
    if (request.method !== "POST") return void socket.write(jsonReply({ detail: "Not Found" }, 404));
    const given = /"seed":\s*(\d+)/.exec(request.body)?.[1];
    const at = server.submits().length - 1;
    const seed = given ?? own[at];
    if (seed === "lost") return void socket.destroy();
    const images = [png(at).toString("base64")];
    return void socket.write(jsonReply({ images, info: `{"seed": ${seed}, "all_seeds": [${seed}]}` }));
  });
  const spec = `sdapi:${server.origin}`;
  const env = { IMGGEN_GENERATOR: spec, ...NO_ACCOUNT };
  const world = await commandWorld({}, env);
  const bodies = () =>
    server.submits().map(({ body }) => JSON.parse(body.replace(/("seed":)(\d+)/, '$1"$2"')));
  return { ...world, generator: server, spec, bodies };
}

async function comfyWorld() {
  const double = await comfyDouble();
  const env = { IMGGEN_GENERATOR: `comfyui:${double.url}`, ...NO_ACCOUNT };
  return { ...(await commandWorld({}, env)), double };
}

const fileOf = (document: Document, at = 0) => String(document.files?.[at]?.path);
const seedsOf = ({ files }: Document) => [files].flat().map((each) => each?.seed);

describe("the seed of an image", () => {
  it("that the server reports is in the ledger, JSON, sidecar, show, history and the gallery, digit by digit", async () => {
    const { json, run, home, cwd, bodies } = await sdapiWorld();
    const { code, document } = await json(["generate", "a fox", "--sidecar"]);
    expect(code).toBe(0);
    expect(bodies()[0]).not.toHaveProperty("seed");
    expect(document.request).not.toHaveProperty("seed");
    expect(seedsOf(document)).toEqual([LONG]);
    const image = fileOf(document);
    const sidecar = JSON.parse(await readFile(`${image}.json`, "utf8"));
    expect([sidecar.seed, sidecar.request.seed]).toEqual([LONG, undefined]);
    expect((await json(["history"])).document).toMatchObject([{ files: [{ seed: LONG }] }]);
    expect((await run(["history"])).stdout).toContain(LONG);
    const task = String(document.taskId);
    for (const what of [image, task])
      expect((await json(["show", what])).document).toMatchObject({ files: [{ seed: LONG }] });
    await run(["gallery"]);
    expect(await readFile(path.join(cwd, "gallery.html"), "utf8")).toContain(`"settings":{"seed":"${LONG}"}`);
    expect(await ledgerText(home)).toContain(`"seeds":["${LONG}"]`);
  });

  it("that fal reports is known although the reply is not kept", async () => {
    const { json, generate } = await paidService(FAL, {
      result: ({ headers }, socket) => {
        const url = `http://${headers.host}/files/image-1.png`;
        socket.write(response(200, `{"images":[{"url":"${url}"}],"seed":${LONG}}`));
      },
    });
    expect(seedsOf((await json(generate)).document)).toEqual([LONG]);
  });

  it("is the one that was given, by --seed or as a field", async () => {
    const { json } = await sdapiWorld();
    expect(seedsOf((await json(["generate", "a fox", "--seed", "7"])).document)).toEqual([7]);
    expect(seedsOf((await json(["generate", "a fox", "-f", "seed=9"])).document)).toEqual([9]);
  });

  it("that imggen chooses for ComfyUI is the one that it sends; each image has the next", async () => {
    const { json, double } = await comfyWorld();
    const { document } = await json(["generate", "a fox", "-n", "2"]);
    const first = chosenSeed({ taskId: String(document.taskId), index: 0 });
    const both = [first, Number(first) + 1];
    expect(double.submits.map(({ prompt }) => prompt["5"]?.inputs.seed)).toEqual(both);
    expect(seedsOf(document)).toEqual(both);
  });

  it.each([
    ["{seed}", true],
    ["x", false],
  ])("that imggen chooses for a command is known if the command gets it: %s", async (word, isKnown) => {
    const world = await commandWorld({}, NO_ACCOUNT);
    const script = path.join(world.cwd, "paint");
    await writeFile(path.join(world.cwd, "picture.png"), png());
    const copy = `#!/bin/sh\necho "$3" > ${world.cwd}/seed\ncp ${world.cwd}/picture.png "$2"\n`;
    await writeFile(script, copy, { mode: 0o755 });
    const { document } = await world.json([
      ...["generate", "a fox", "--generator", `command:${script} {promptFile} {output} ${word}`],
    ]);
    const given = (await readFile(path.join(world.cwd, "seed"), "utf8")).trim();
    expect(seedsOf(document)).toEqual([isKnown ? Number(given) : undefined]);
  });

  it("fills {seed} in --name, and a row's column does", async () => {
    const { json, run, cwd, listing } = await sdapiWorld();
    const { document } = await json(["generate", "a fox", "--name", "{slug}-{seed}-{model}"]);
    expect(path.basename(fileOf(document))).toBe(`a-fox-${LONG}.png`);
    await writeFile(path.join(cwd, "rows.csv"), "prompt,seed\na hare,11\n");
    await run(["batch", "rows.csv", "-o", "out", "--name", "{slug}-{seed}", "--yes"]);
    expect((await listing()).filter((each) => each.endsWith("a-hare-11.png"))).toHaveLength(1);
  });
});

describe("rerun", () => {
  it("of a task makes as many images as before, of a file that one, each with its seed", async () => {
    const { json, bodies } = await sdapiWorld();
    const { document } = await json(["generate", "a fox", "-n", "2", "--seed", "11"]);
    expect(seedsOf((await json(["rerun", String(document.taskId)])).document)).toEqual([11, 12]);
    expect(seedsOf((await json(["rerun", fileOf(document, 1)])).document)).toEqual([12]);
    expect(bodies().map(({ seed }) => Number(seed))).toEqual([11, 12, 11, 12, 12]);
  });

  it("uses a seed that was reported or chosen, in one image or several that follow each other", async () => {
    const { json, bodies } = await sdapiWorld([LONG, 5, 6]);
    const one = await json(["generate", "a fox"]);
    expect(seedsOf((await json(["rerun", fileOf(one.document)])).document)).toEqual([LONG]);
    expect(bodies().map(({ seed }) => seed)).toEqual([undefined, LONG]);
    const double = await comfyDouble();
    const env = { IMGGEN_GENERATOR: `comfyui:${double.url}` };
    const { document } = await json(["generate", "a fox", "-n", "2"], { env });
    const again = await json(["rerun", String(document.taskId)], { env });
    expect(seedsOf(again.document)).toEqual(seedsOf(document));
    expect(double.worked).toBe(2);
  });

  it("of images whose seeds do not follow each other makes new ones, and says so", async () => {
    const { json, bodies } = await sdapiWorld([LONG, 5, 6, 7]);
    const { document } = await json(["generate", "a fox", "-n", "2"]);
    const again = await json(["rerun", String(document.taskId)]);
    expect(seedsOf(again.document)).toEqual([6, 7]);
    expect(String(again.document.warnings)).toContain("not consecutive");
    expect(bodies()[2]).not.toHaveProperty("seed");
    expect(seedsOf((await json(["rerun", fileOf(document, 1)])).document)).toEqual([5]);
  });

  it("keeps the seed with a change, drops it with --seed random, and takes another one", async () => {
    const { json, bodies } = await sdapiWorld([5, 0, 0, 6, 0, 0, 7]);
    const { document } = await json(["generate", "a fox", "-f", "seed=-1"]);
    const file = fileOf(document);
    await json(["rerun", file, "-f", "cfg=4"]);
    await json(["rerun", file, "--prompt", "a hare", "-r", "16:9"]);
    const random = await json(["rerun", file, "--seed", "random"]);
    expect(seedsOf(random.document)).toEqual([6]);
    await json(["rerun", file, "--seed", "8"]);
    await json(["rerun", file, "-f", "seed=9"]);
    const given = await json(["generate", "an owl", "--seed", "3"]);
    await json(["rerun", fileOf(given.document), "--seed", "random"]);
    expect(bodies().map(({ seed }) => seed && Number(seed))).toEqual([
      ...[-1, 5, 5, undefined, 8, 9, 3, undefined],
    ]);
    expect(bodies()[1]).toMatchObject({ cfg: 4, prompt: "a fox" });
    expect(bodies()[2]).toMatchObject({ prompt: "a hare" });
  });

  it("keeps the request in the ledger as it was given: --reuse and a command that is run again know it", async () => {
    const { json, generator, home } = await sdapiWorld();
    const { document } = await json(["generate", "a fox"]);
    const again = await json(["rerun", fileOf(document)]);
    expect(again.document.request).toEqual(document.request);
    expect(generator.submits()).toHaveLength(2);
    expect(await ledgerText(home)).toContain(`"repeatedSeed":{"field":"seed","first":"${LONG}"}`);
    const reused = await json(["generate", "a fox", "--reuse"]);
    expect(reused.document).toMatchObject({ reused: true, taskId: again.document.taskId });
    expect(generator.submits()).toHaveLength(2);
  });

  it("that was not waited for is continued by its request, and not submitted a second time", async () => {
    const { json, double } = await comfyWorld();
    const made = await json(["generate", "a fox"]);
    const again = await json(["rerun", fileOf(made.document), "--no-wait"]);
    const continued = await json(["generate", "a fox"]);
    expect(continued.document).toMatchObject({ reused: true, taskId: again.document.taskId });
    expect(seedsOf(continued.document)).toEqual(seedsOf(made.document));
    expect(double.submits).toHaveLength(2);
  });

  it("settles a task of unknown outcome although it adds the seed of its other image", async () => {
    const { json, bodies } = await sdapiWorld([5, "lost", 6, 7]);
    const { document } = await json(["generate", "a fox", "-n", "2", "--generator-paid"]);
    const unknown = async () => (await json(["history", "--status", "unknown"])).document;
    expect(await unknown()).toMatchObject([{ taskId: document.taskId, files: [{ seed: 5 }] }]);
    expect((await json(["rerun", String(document.taskId)])).code).toBe(0);
    expect(bodies().map(({ seed }) => seed)).toEqual([undefined, undefined, "5", "6"]);
    expect((await json(["resume"])).code).toBe(0);
    expect(await json(["history", "--unfinished"])).toMatchObject({ document: [] });
  });

  it("takes another prompt, from a flag or a file; --edit needs a terminal", async () => {
    const { json, cwd, bodies } = await sdapiWorld();
    const { document } = await json(["generate", "a fox"]);
    const file = fileOf(document);
    await writeFile(path.join(cwd, "prompt.txt"), "an owl\n");
    await json(["rerun", file, "--prompt", "a hare"]);
    await json(["rerun", file, "--prompt-file", "prompt.txt"]);
    expect(bodies().map(({ prompt, seed }) => [prompt, seed])).toEqual([
      ["a fox", undefined],
      ["a hare", LONG],
      ["an owl", LONG],
    ]);
    const both = await json(["rerun", file, "--prompt", "a", "--prompt-file", "prompt.txt"]);
    expect(both.document.error?.message).toContain("given twice: with --prompt and with --prompt-file");
    for (const flags of [["--edit"], ["--prompt", " "]])
      expect((await json(["rerun", file, ...flags])).code).toBe(2);
    expect(bodies()).toHaveLength(3);
  });

  it("goes to the task's own provider where nothing is configured", async () => {
    const { json, spec, bodies } = await sdapiWorld();
    const nothing = { env: { IMGGEN_GENERATOR: undefined } };
    const { document } = await json(["generate", "a fox", "--generator", spec], nothing);
    expect((await json(["rerun", String(document.taskId), "-f", "cfg=4"], nothing)).code).toBe(0);
    expect(bodies()[1]).toMatchObject({ prompt: "a fox", cfg: 4, seed: LONG });
  });

  it("shows the seed in --dry-run, or that another generator has no field for it and it is left out", async () => {
    const { json } = await sdapiWorld();
    const rerun = ["rerun", fileOf((await json(["generate", "a fox"])).document), "--dry-run"];
    const { document } = await json(rerun);
    expect(document).toMatchObject({ request: { seed: LONG }, sent: { body: { seed: LONG } } });
    const elsewhere = await json([...rerun, "--sandbox", "-m", "z-image"]);
    expect([elsewhere.code, elsewhere.document.request]).toEqual([0, { prompt: "a fox", model: "z-image" }]);
    expect(String(elsewhere.document.warnings)).toContain(`The seed ${LONG} was left out`);
  });
});

async function ledgerText(home: string): Promise<string> {
  const files = (await readdir(home, { recursive: true })).filter((file) => file.endsWith(".jsonl"));
  return (await Promise.all(files.map((file) => readFile(path.join(home, file), "utf8")))).join("");
}
