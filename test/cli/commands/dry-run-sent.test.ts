import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { generatorWorld } from "../../support/generator-world.ts";
import { PICTURE } from "../../support/images.ts";

it("--dry-run shows the request that the generator would get, and opens no connection", async () => {
  const { json, run, generator, cwd } = await generatorWorld();
  const file = path.join(cwd, "fox.png");
  await writeFile(file, PICTURE);
  const args = ["generate", "a fox", "--dry-run", "--model", "flux", "--image", file];
  const { code, document } = await json(args);
  expect(code).toBe(0);
  expect(document).toMatchObject({
    dryRun: true,
    request: { prompt: "a fox", model: "flux" },
    sent: {
      method: "POST",
      url: `${generator.origin}/v1/images/edits`,
      body: { prompt: "a fox", model: "flux", image: "<file fox.png>" },
    },
  });
  const plain = await run(args);
  expect(plain.stdout).toContain(`POST ${generator.origin}/v1/images/edits`);
  expect(plain.stdout).toContain('"image": "<file fox.png>"');
  expect(generator.requests).toEqual([]);
});

it("--dry-run says how many requests the images take", async () => {
  const { json, run } = await generatorWorld();
  const args = ["generate", "a fox", "--dry-run", "--model", "flux", "--max-images", "2"];
  expect((await json(args)).document).toMatchObject({ dryRun: true, requests: 2 });
  expect((await run(args)).stdout).toMatch(/^2 requests, .*, nothing was sent$/m);
});

it("--dry-run shows the words of a command", async () => {
  const { run } = await generatorWorld();
  const line = "command:/bin/paint {promptFile} {width} {output}";
  const { code, stdout } = await run(["generate", "a fox", "--dry-run", "--generator", line]);
  expect(code).toBe(0);
  expect(stdout).toContain("/bin/paint '<file with the prompt>' 1024 '<file for the image>'");
});

it.each([
  ["batch", "line 3: A model of Replicate is named"],
  ["compare", "flux: A model of Replicate is named"],
])(
  "%s --dry-run refuses what the generator would refuse, by its name, and opens no connection",
  async (command, message) => {
    const { json, generator, cwd } = await generatorWorld();
    const spec = `replicate:${generator.origin}`;
    await writeFile(path.join(cwd, "p.csv"), "prompt,model\na fox,a/b\na hare,flux\n");
    const args = command === "batch" ? ["batch", "p.csv"] : ["compare", "a fox", "--model", "a/b,flux"];
    const { code, document } = await json([...args, "--dry-run", "--generator", spec, "--no-validate"]);
    expect([code, document.error?.message]).toEqual([2, expect.stringContaining(message)]);
    expect(generator.requests).toEqual([]);
  },
);
