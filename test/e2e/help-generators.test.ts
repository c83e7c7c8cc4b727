import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { programWorld } from "../support/program-world.ts";
import { recipe } from "../support/recipe.ts";
import { hasTool } from "../support/tools.ts";

/** A world in which a script is the generator, with the arguments that its help gives it. */
async function scriptWorld(script: string, args = "{promptFile} {width} {height} {seed} {output}") {
  const world = await programWorld(null);
  const file = path.join(world.folder, "paint");
  await writeFile(file, script);
  await chmod(file, 0o755);
  const flags = ["--generator", `command:"${file}" ${args}`, "--generator-side", "64", "--ratio", "1:1"];
  const generate = (more: string[] = [], env: Record<string, string | undefined> = {}) =>
    world.generate([...flags, ...more], { env: { PATH: process.env.PATH, ...env } });
  return { world, generate };
}

/** Stands for the two libraries: it notes what it is called with, and its image is a file that is there already. */
const TORCH = `
float16 = "float16"
class Generator:
    def manual_seed(self, seed):
        self.seed = seed
        return self
`;
const DIFFUSERS = `
import json, os, shutil
class Image:
    def save(self, file):
        shutil.copy(os.environ["PICTURE"], file)
class Made:
    images = [Image()]
class AutoPipelineForText2Image:
    @classmethod
    def from_pretrained(cls, name, **options):
        pipe = cls()
        pipe.loaded = [name, options]
        return pipe
    def to(self, device):
        self.loaded.append(device)
        return self
    def __call__(self, prompt, generator, **options):
        with open(os.environ["CALLS"], "w") as file:
            json.dump([self.loaded, prompt, generator.seed, options], file)
        return Made()
`;

it("the script for diffusers makes an image with the prompt, the size and the seed", async (test) => {
  test.skip(!hasTool("python3"), "python3 is not installed");
  const { world, generate } = await scriptWorld(await recipe("programs", "diffusers"));
  const at = (name: string) => path.join(world.folder, name);
  await writeFile(at("torch.py"), TORCH);
  await writeFile(at("diffusers.py"), DIFFUSERS);
  await writeFile(at("picture.png"), PICTURE);
  const env = { PYTHONPATH: world.folder, PICTURE: at("picture.png"), CALLS: at("calls.json") };
  const run = await generate(["--field", "seed=7"], env);
  expect(await world.aftermath(run)).toMatchObject({ exit: 0 });
  expect(JSON.parse(await readFile(at("calls.json"), "utf8"))).toEqual([
    ["stabilityai/sdxl-turbo", { torch_dtype: "float16", variant: "fp16" }, "cuda"],
    "a fox",
    7,
    { width: 64, height: 64, num_inference_steps: 1, guidance_scale: 0 },
  ]);
});

it("the script for ImageMagick draws every character of a prompt, and reads no file that it names", async (test) => {
  test.skip(!existsSync("/usr/bin/convert"), "ImageMagick is not installed");
  const script = await recipe("programs", "ImageMagick");
  const { world } = await scriptWorld(script, "{promptFile} {width} {height} {output}");
  const flags = ["--generator", `command:"${world.folder}/paint" {promptFile} {width} {height} {output}`];
  const draw = async (prompt: string) => {
    const args = ["generate", "--json", "--generator-side", "256", ...flags, "--", prompt];
    const run = await world.run(args, { env: { PATH: process.env.PATH } });
    expect(run.code, run.stdout).toBe(0);
    return JSON.parse(run.stdout).files[0];
  };
  const drawn = await Promise.all(["@/etc/hostname", "100% \\n", "-size 9x9", "a fox"].map(draw));
  expect(drawn.map(({ width, height }) => [width, height])).toEqual(drawn.map(() => [256, 256]));
  expect(new Set(drawn.map(({ sha256 }) => sha256)).size).toBe(drawn.length);
});
