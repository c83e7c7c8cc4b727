import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { automatic1111 } from "../support/automatic1111.ts";
import { runProgram } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The built program with a server of AUTOMATIC1111's API as its generator. */
async function sdapiWorld() {
  const double = await automatic1111();
  const folder = await temporaryFolder();
  const env = { IMGGEN_HOME: path.join(folder, "home"), IMGGEN_GENERATOR: double.spec };
  const run = (...args: string[]) => runProgram(args, { env, cwd: folder });
  return { double, folder, run };
}

const FIELDS = ["--seed", "7", "--negative", "rain, snow", "--field", "steps=20", "-f", "cfg_scale=6.5"];

describe("seed, negative prompt and fields", () => {
  it("reach a server that has a model loaded, are in the history, and are kept by rerun but for what it changes", async () => {
    const { double, run } = await sdapiWorld();
    expect(await run("generate", "a fox", "-o", "fox.png", ...FIELDS)).toMatchObject({ code: 0 });
    const sent = { prompt: "a fox", seed: 7, negative_prompt: "rain, snow", steps: 20, cfg_scale: 6.5 };
    expect(double.bodies()).toMatchObject([sent]);
    const { stdout } = await run("history", "--json");
    const request = {
      model: "paint",
      seed: 7,
      negative: "rain, snow",
      fields: { steps: 20, cfg_scale: 6.5 },
    };
    expect(JSON.parse(stdout)).toMatchObject([{ request }]);
    expect(await run("rerun", "fox.png", "-o", "again.png", "--field", "steps=30")).toMatchObject({
      code: 0,
    });
    expect(double.bodies()[1]).toMatchObject({ ...sent, steps: 30 });
  });

  it("are an axis of compare, with an image for each value", async () => {
    const { double, folder, run } = await sdapiWorld();
    const compared = await run(
      "compare",
      "a fox",
      "-f",
      "seed=1,2",
      "-o",
      path.join(folder, "seeds"),
      "--yes",
    );
    expect(compared.code).toBe(0);
    expect(new Set(double.bodies().map(({ seed }) => seed))).toEqual(new Set([1, 2]));
    expect((await readdir(path.join(folder, "seeds"))).filter((name) => name.endsWith(".png"))).toHaveLength(
      2,
    );
  });

  it("are refused where there is no place for them, and other tools' flags get a hint", async () => {
    const { double, run } = await sdapiWorld();
    const refused = await run("generate", "a fox", "--sandbox", "--seed", "7");
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--seed cannot be used") });
    const hinted = await run("generate", "a fox", "--steps", "20");
    expect(hinted).toMatchObject({ code: 2, stderr: expect.stringContaining("--field steps=20") });
    expect(double.bodies()).toEqual([]);
  });
});
