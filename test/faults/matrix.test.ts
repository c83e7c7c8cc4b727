import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { NOTHING_CHARGED, serviceWorld } from "../support/program-world.ts";

const REFUSED = { ...NOTHING_CHARGED, exit: 2, type: "usage" };

async function matrixWorld(content: string | Buffer) {
  const { world } = await serviceWorld();
  const file = path.join(world.folder, "models.json");
  await writeFile(file, content);
  return { world, file, env: { ...world.env, IMGGEN_MATRIX: file } };
}

it.each([
  ["a wrong type", '[{"id": "new", "promptLimit": "1000"}]', "models[0].promptLimit must be a whole number"],
  [
    "an unknown field",
    '[{"id": "new", "ratio": ["1:1"]}]',
    "models[0].ratio is not a field; the nearest is ratios",
  ],
  ["an id twice", '[{"id": "new"}, {"id": "new"}]', 'models[1].id "new" is the id of models[0] too'],
  [
    "a negative price",
    '[{"id": "new", "credits": {"1K": -1}}]',
    'models[0].credits["1K"] must be a whole number',
  ],
  ["what is not JSON", "id: new", "it is not JSON: "],
  ["nothing", "", "it is empty"],
  ["UTF-16", Buffer.from('\uFEFF[{"id": "new"}]', "utf16le"), "it is not UTF-8 at byte 0"],
  ["more than 1 MiB", " ".repeat(2 ** 20 + 1), "it is larger than 1 MiB"],
  ["escape sequences", '[{"id": "\\u001b]0;pwned\\u0007"}]', "models[0].id must be an id"],
])("a model matrix with %s is refused: exit 2 with its path, nothing sent", async (_what, content, why) => {
  const { world, file, env } = await matrixWorld(content);
  const run = await world.generate(["-m", "gamma-image-2"], { env });
  expect(await world.aftermath(run)).toMatchObject(REFUSED);
  const { message, hint } = JSON.parse(run.stdout).error;
  expect(message).toContain(`The model matrix ${file} cannot be used: ${why}`);
  expect(hint).toBe(
    "Nothing was sent. File format: imggen help matrix\nTo use the built-in models alone, unset IMGGEN_MATRIX.",
  );
  expect(message + hint).not.toMatch(/[\u001b\u0007]/);
});

it.each(["batch", "compare"])("%s refuses a damaged model matrix too, nothing sent", async (command) => {
  const { world, file, env } = await matrixWorld("[");
  const input = command === "batch" ? await world.manifest(["a fox"]) : "a fox";
  const run = await world.run([command, input, "-m", "gamma-image-2", "--output", world.out, "--json"], {
    env,
  });
  expect(await world.aftermath(run)).toMatchObject(REFUSED);
  expect(JSON.parse(run.stdout).error.message).toContain(`The model matrix ${file} cannot be used: `);
});

it.each(["none", "folder", "pipe"])(
  "a model matrix that cannot be read (%s) is refused: exit 2, nothing sent, and nothing waits",
  async (kind) => {
    const { world } = await matrixWorld("[]");
    const file = path.join(world.folder, kind);
    if (kind === "folder") await mkdir(file);
    if (kind === "pipe") execFileSync("mkfifo", [file]);
    const run = await world.generate([], { env: { ...world.env, IMGGEN_MATRIX: file } });
    expect(await world.aftermath(run)).toMatchObject(REFUSED);
    expect(JSON.parse(run.stdout).error.message).toContain(`The model matrix ${file} cannot be used: `);
  },
);

it("a charged task is resumed whatever the model matrix has become", async () => {
  const { world, file, env } = await matrixWorld('[{"id": "new", "credits": {"default": 3}}]');
  const first = await world.generate(["-m", "new", "--no-wait"], { env });
  expect(JSON.parse(first.stdout)).toMatchObject({ ok: true, credits: 3 });
  await writeFile(file, "[");
  const run = await world.resume(["--output", `${world.out}/`], { env });
  expect(run.code).toBe(0);
  expect(await world.aftermath(first)).toMatchObject({ submits: 1, open: [], files: [expect.any(String)] });
});
