import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { buildPng } from "../lib/image/builders.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { BIN, runProgram } from "../support/program.ts";
import { programWorld, serviceWorld } from "../support/program-world.ts";
import { completedAt } from "../support/scripts.ts";
import { QUICK, quick } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A world with a service in it, and a shell in which `imggen` is the built program. */
async function shellWorld() {
  const { server, world } = await serviceWorld();
  const define = `imggen() { "${process.execPath}" "${BIN}" "$@"; }`;
  const shell = (script: string) =>
    world.run([], { through: ["bash", "-c", `${define}\n${quick(script)}`], cwd: world.out });
  return { server, world, shell };
}

it("path=$(imggen generate …) holds the path of the image, and nothing else", async () => {
  const { world, shell } = await shellWorld();
  const run = await shell(
    'path=$(imggen generate "a fox") && printf "<%s>" "$path" && cmp "$path" a-fox-task1.png',
  );
  expect(run.stdout).toBe(`<${world.out}/a-fox-task1.png>`);
  expect(run.code).toBe(0);
});

it("several images are a path a line", async () => {
  const { world } = await serviceWorld({ poll: completedAt("/1.png", "/2.png", "/3.png") });
  const run = await world.run(["generate", "a fox", ...QUICK, "-m", "vendor2/beta-v4", "-n", "3"]);
  expect(run.stdout.split("\n")).toEqual([
    path.join(world.out, "a-fox-task1.png"),
    path.join(world.out, "a-fox-task1-2.png"),
    path.join(world.out, "a-fox-task1-3.png"),
    "",
  ]);
});

it("-o - writes the bytes of the image, and nothing else", async () => {
  const { world, shell } = await shellWorld();
  const run = await world.run(["generate", "a fox", ...QUICK, "-o", "-"]);
  expect(run.stdoutBytes).toEqual(PICTURE);
  expect(run.code).toBe(0);
  expect(await world.files()).toEqual([]);
  expect(await world.ledger()).toEqual({ open: [], done: ["saved"] });
  expect((await shell('imggen generate "a fox" -o - | cat > piped.png')).code).toBe(0);
  expect(await readFile(path.join(world.out, "piped.png"))).toEqual(PICTURE);
});

it("-o - with --json is refused before anything is sent", async () => {
  const { server, world } = await shellWorld();
  expect((await world.run(["generate", "a fox", "-o", "-", "--json"])).code).toBe(2);
  expect(server.requests).toEqual([]);
});

it("-o - into a pipe whose reader has left: exit 8, no stack trace, and resume saves the image", async () => {
  const { world, shell } = await shellWorld();
  const run = await shell('imggen generate "a fox" -o - | true; exit "$PIPESTATUS"');
  expect(run.stderr).not.toMatch(/EPIPE|at .*:\d+:\d+/);
  expect(run.code).toBe(8);
  expect(run.stderr).toContain("imggen resume task-1");
  expect((await shell("imggen resume task-1")).code).toBe(0);
  expect(await world.files()).toEqual(["a-fox-task1.png"]);
});

it("a reader that takes its time gets every byte, through a pipe or in a file, in order", async () => {
  const { shell } = await shellWorld();
  const slow = await shell("imggen models --json | (sleep 0.5; cat) | sha256sum");
  const plain = await shell("imggen models --json > models.json; sha256sum < models.json");
  expect(slow.stdout).toMatch(/^[0-9a-f]{64} /);
  expect(slow.stdout).toBe(plain.stdout);
});

it("an image larger than a pipe holds reaches a slow reader whole", async () => {
  // In chunks of one byte each, which take thirteen: several times what a pipe holds.
  const large = buildPng(4000, 4000, 1);
  expect(large.length).toBeGreaterThan(150_000);
  const server = await liveService(large);
  const world = await programWorld(server);
  const script = `"${process.execPath}" "${BIN}" generate "a fox" -o - --poll-interval 100ms | (sleep 1; sha256sum)`;
  const run = await world.run([], { through: ["bash", "-c", script], cwd: world.out });
  expect(run.stdout.split(" ")[0]).toBe(createHash("sha256").update(large).digest("hex"));
});

it("imggen models | head -1 ends in silence", async () => {
  const { shell } = await shellWorld();
  const run = await shell(
    'set -o pipefail; imggen models | head -1; imggen models --json | true; echo "$PIPESTATUS"',
  );
  expect(run.stderr).not.toMatch(/EPIPE|Error/);
  expect(run.stdout).toMatch(/^MODEL .*\n0\n$/);
});

it("a prompt from a pipe, a here-document or a file is sent without its last newline", async () => {
  const { server, shell } = await shellWorld();
  const run = await shell(`
    echo "a fox" | imggen generate &&
    imggen generate - <<< "two
lines
" &&
    printf "no newline" > prompt.txt && imggen generate --prompt-file prompt.txt &&
    imggen generate --prompt-file - < prompt.txt`);
  expect(run.code).toBe(0);
  expect(server.submits().map(({ body }) => JSON.parse(body).prompt)).toEqual([
    "a fox",
    "two\nlines\n",
    "no newline",
    "no newline",
  ]);
});

it("a loop over a list on standard input is not robbed of it by a prompt given as an argument", async () => {
  const { server, shell } = await shellWorld();
  const run = await shell(
    'printf "fox\\ncat\\n" | while read -r word; do imggen generate "a $word" || exit; done',
  );
  expect(run.code).toBe(0);
  expect(server.submits().map(({ body }) => JSON.parse(body).prompt)).toEqual(["a fox", "a cat"]);
});

it("without a home of its own it keeps to the XDG folders", async () => {
  const folder = await temporaryFolder();
  const env = {
    HOME: folder,
    XDG_CONFIG_HOME: path.join(folder, "conf"),
    XDG_STATE_HOME: path.join(folder, "state"),
  };
  const config = await runProgram(["config", "path"], { env });
  expect(config.stdout).toBe(`${folder}/conf/imggen/config.json\n`);
  const relative = await runProgram(["config", "path"], { env: { ...env, XDG_CONFIG_HOME: "relative" } });
  expect(relative.stdout).toBe(`${folder}/.config/imggen/config.json\n`);
});

it.each([
  ["", "<(printf 'a fox\\nan owl\\n')"],
  ["", `/dev/stdin < <(printf '{"prompt":"a fox"}\\n{"prompt":"an owl"}\\n')`],
  ["printf 'a fox\\nan owl\\n' > prompts", "/dev/stdin < prompts"],
  ["mkfifo pipe; printf 'a fox\\nan owl\\n' > pipe &", "pipe"],
])("a manifest that is no file of its own is read as standard input is: %s %s", async (before, manifest) => {
  const { shell } = await shellWorld();
  const run = await shell(`${before}\nimggen batch ${manifest} --dry-run`);
  expect([run.code, run.stderr + run.stdout]).toEqual([0, expect.stringContaining("2 rows")]);
});
