import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createClient } from "../../src/client/index.ts";
import { commandWorld } from "../support/command-world.ts";
import { PICTURE } from "../support/images.ts";
import { withConfig } from "../support/settings-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function homeFolder(): Promise<string> {
  const folder = await temporaryFolder();
  vi.stubEnv("HOME", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

describe("the home folder", () => {
  it("is ~/ in IMGGEN_HOME", async () => {
    const { json } = await commandWorld();
    const folder = await homeFolder();
    const { document } = await json(["config", "path"], { env: { IMGGEN_HOME: "~/images" } });
    expect(document).toMatchObject({ path: path.join(folder, "images", "config", "config.json") });
  });

  it.each([
    ["IMGGEN_OUTPUT", { IMGGEN_OUTPUT: "~/pictures/" }, [], {}],
    ["a flag, which no shell reads after =", {}, ["--output=~/pictures/"], {}],
    ["the setting output", {}, [], { output: "~/pictures/" }],
  ])("is ~/ in %s", async (_what, env, flags, settings) => {
    const { home, run } = await commandWorld();
    await withConfig({ home }, settings);
    const folder = await homeFolder();
    const { code, stdout } = await run(["generate", "a fox", ...flags], { env });
    expect([code, path.dirname(stdout)]).toEqual([0, path.join(folder, "pictures")]);
  });
});

it("is ~/ in a manifest's reference images, and never a folder of that name", async () => {
  const world = await commandWorld({}, { IMGGEN_BASE_URL: undefined, PATH: process.env.PATH });
  const home = await homeFolder();
  await writeFile(path.join(home, "fox.png"), PICTURE);
  const batch = async (row: object) => {
    await writeFile(path.join(world.cwd, "rows.jsonl"), JSON.stringify({ prompt: "a fox", ...row }));
    const generator = `command:sh -c 'cp "$1" "$2"' sh {image} {output} {promptFile}`;
    return world.run(["batch", "rows.jsonl", "--generator", generator, "--output", "out/"]);
  };
  expect(await batch({ image: "~/fox.png" })).toMatchObject({ code: 0 });
  const { code, stderr } = await batch({ output: "~/other.png" });
  expect([code, stderr]).toEqual([2, expect.stringContaining("must be a name below the output folder")]);
});

describe("a relative IMGGEN_HOME", () => {
  it.each(["images", "./images", "~ada/x"])("is refused: %s", async (IMGGEN_HOME) => {
    const { json, server } = await commandWorld();
    const { code, document } = await json(["generate", "a fox"], { env: { IMGGEN_HOME } });
    expect([code, document.error?.message]).toEqual([2, expect.stringContaining("must be an absolute path")]);
    expect(server.requests).toEqual([]);
  });

  it("is not what a program's home is: that is below its working folder", async () => {
    const home = path.relative(process.cwd(), await temporaryFolder());
    const imggen = createClient({ home, sandbox: true });
    expect(await imggen.history()).toEqual({ tasks: [] });
    await imggen.close();
  });
});
