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
  ["chosen by the server", [], /^seed: random \(chosen by the server\)$/m],
  ["that is given", ["--seed", "7"], null],
  ["given as a field", ["-f", "seed=7"], null],
  ["that the model does not take", ["-m", "gpt-image-2", "--no-validate"], null],
  [
    "that a command gets",
    ["--generator", "command:/bin/paint {promptFile} {seed} {output}"],
    /^seed: random \(chosen by imggen\)$/m,
  ],
  ["that a command has no place for", ["--generator", "command:/bin/paint {promptFile} {output}"], null],
  ["at a generator without seeds", ["--generator", "gemini", "-m", "gemini-3-pro-image"], null],
  ["at the service", ["--sandbox"], null],
])(
  "--dry-run says who chooses a seed, and shows no number that is not sent: %s",
  async (_case, flags, line) => {
    const { run, json } = await generatorWorld();
    const args = ["generate", "a fox", "--dry-run", ...flags];
    const { code, stdout } = await run(args, { env: { GEMINI_API_KEY: "k" } });
    expect(code).toBe(0);
    if (line === null) expect(stdout).not.toContain("random");
    else expect(stdout).toMatch(line);
    const { document } = await json(args, { env: { GEMINI_API_KEY: "k" } });
    expect(document.seed).toBe(line === null ? undefined : "random");
  },
);

it("--dry-run of a workflow shows the place of a seed, and no number", async () => {
  const { run } = await generatorWorld();
  const args = ["generate", "a fox", "--dry-run", "--generator", "comfyui:http://127.0.0.1:9", "-m", "dream"];
  const { stdout } = await run(args);
  expect(stdout).toMatch(/\.seed = "<seed>"$/m);
  expect(stdout).toContain("seed: random (chosen by imggen)");
  expect((await run([...args, "--seed", "7"])).stdout).not.toContain("random");
});

it.each([
  ["batch", "line 3: Replicate needs a model name"],
  ["compare", "flux: Replicate needs a model name"],
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
