import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runAction } from "../support/action.ts";
import { CANARY } from "../support/canary.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { packedInto } from "../support/packed.ts";
import { SHORTEST_BACKOFF } from "../support/program.ts";
import { response, success } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ACTION = path.resolve(import.meta.dirname, "../../.github/actions/imggen");
let folder = "";

/** Installs the package as the action's first step does; every attempt finds it where that has put it. */
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "imggen-test-"));
  const install = { RUNNER_TEMP: folder, GITHUB_PATH: path.join(folder, "path"), npm_config_offline: "true" };
  const env = { PATH: process.env.PATH, HOME: folder, PACKAGE: await packedInto(folder), ...install };
  await promisify(execFile)("bash", [path.join(ACTION, "install.sh")], { env });
  await mkdir(path.join(folder, "bin"));
  const npm = `#!/bin/sh\nln -s '${path.join(folder, "imggen")}' "$RUNNER_TEMP/imggen"\n`;
  await writeFile(path.join(folder, "bin/npm"), npm, { mode: 0o755 });
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

it("installs imggen as it is beside the action, built, where no package is named", async () => {
  const clone = await temporaryFolder();
  const bin = path.join(clone, "bin");
  await mkdir(bin);
  const npm = `#!/bin/sh\necho "$PWD: $*" | sed "s#${clone}#CLONE#g" >> '${path.join(clone, "ran")}'\n`;
  await writeFile(path.join(bin, "npm"), npm, { mode: 0o755 });
  const files = { RUNNER_TEMP: clone, GITHUB_PATH: path.join(clone, "path") };
  const action = path.join(clone, ".github/actions/imggen");
  await mkdir(action, { recursive: true });
  const env = { PATH: `${bin}:${process.env.PATH}`, PACKAGE: "", GITHUB_ACTION_PATH: action, ...files };
  await promisify(execFile)("bash", [path.join(ACTION, "install.sh")], { env, cwd: bin });
  expect((await readFile(path.join(clone, "ran"), "utf8")).split("\n")).toEqual([
    "CLONE/bin: ci --prefix CLONE --no-audit --no-fund",
    "CLONE: run --silent build:package",
    "CLONE/bin: install --global --no-audit --no-fund --prefix CLONE/imggen CLONE/dist/release/imggen.tgz",
    "",
  ]);
});

/** A job with a manifest; each attempt is on a fresh machine, with what the caches have. */
async function job(manifest: string) {
  const root = await temporaryFolder();
  const caches = path.join(root, "caches");
  await mkdir(caches);
  const PATH = `${path.join(folder, "bin")}:${process.env.PATH}`;
  const env = { PATH, HOME: root, NODE_OPTIONS: SHORTEST_BACKOFF };
  let attempts = 0;
  const attempt = async (
    inputs: Record<string, string>,
    { checkout = {}, temp }: { checkout?: Record<string, string>; temp?: string } = {},
  ) => {
    attempts += 1;
    const workspace = path.join(root, `attempt-${attempts}`);
    await mkdir(workspace);
    await writeFile(path.join(workspace, "products.csv"), manifest);
    for (const [name, text] of Object.entries(checkout)) {
      await mkdir(path.dirname(path.join(workspace, name)), { recursive: true });
      await writeFile(path.join(workspace, name), text);
    }
    const all = { manifest: "products.csv", "max-credits": "100", package: "imggen.tgz", ...inputs };
    return {
      ...(await runAction({ workspace, caches, inputs: all, env, temp: temp && path.join(workspace, temp) })),
      workspace,
    };
  };
  return { attempt };
}

it("an attempt that fails keeps its ledger, and the next one finishes what it charged without another charge", async () => {
  let submits = 0;
  let isBroken = true;
  const { origin } = await liveService(PICTURE, {
    submit: (_request, socket) => {
      submits += 1;
      socket.write(success({ taskId: `task-${submits}` }));
    },
    poll: (request, socket) => {
      const id = new URL(request.target, "http://localhost").searchParams.get("taskId");
      const resultUrl = `http://${request.headers.host}/files/${id}.png`;
      socket.write(success({ status: "completed", resultUrl, errorCode: 0 }));
    },
    file: (request, socket) => {
      const isPage = isBroken && request.target.includes("task-2");
      const [image, type] = isPage ? ["<html>", "text/html"] : [PICTURE, "image/png"];
      socket.write(response(200, image, { "content-type": type }));
    },
  });
  const { attempt } = await job('prompt,output\na fox,fox.png\n"a `hare` | <b>",hare.png\n');
  const inputs = {
    "base-url": `${origin}/api`,
    "api-key": CANARY,
    model: "gamma-image-2",
    arguments: "--quality 1K --concurrency 1 --poll-interval 100ms",
  };
  const first = await attempt(inputs);
  expect(first).toMatchObject({ isOk: false, outputs: "saved=1\ncredits=4\n" });
  expect(first.steps).toEqual([
    "actions/setup-node",
    expect.stringContaining("install.sh"),
    "actions/cache/restore",
    expect.stringContaining("batch.sh"),
    "actions/cache/save",
    "actions/upload-artifact",
    expect.stringContaining("summary.mjs"),
  ]);
  expect(first.summary).toContain("| 1 | a fox | fox.png |");
  expect(first.summary).toContain("| 2 | line 3 | **The image could not be downloaded");
  expect(first.summary).toContain("1 of 2 saved; 4 credits were charged in this attempt.");
  isBroken = false;
  const second = await attempt(inputs);
  expect(second).toMatchObject({ isOk: true });
  expect(second.summary).toContain("| 2 | a &#96;hare&#96; &#124; &#60;b&#62; | hare.png |");
  expect(second.summary).toContain("2 of 2 saved; 0 credits were charged in this attempt.");
  expect(second.summary).toContain("https://example.com/artifact");
  const images = await readdir(path.join(second.workspace, "pictures"));
  expect(images).toEqual(expect.arrayContaining(["fox.png", "hare.png"]));
  expect(submits).toBe(2);
});

it("a batch that is refused says why in the summary", async () => {
  const { attempt } = await job("prompt,output\na fox,../fox.png\n");
  const refused = await attempt({ arguments: "--sandbox", "max-credits": "1" });
  expect(refused).toMatchObject({ isOk: false, outputs: "saved=0\ncredits=\n" });
  expect(refused.summary).toMatch(/^## Images\n\n\S/);
});

it("settings and prices in the checkout change nothing: max-credits holds", async () => {
  const { origin, submits } = await liveService(PICTURE);
  const { attempt } = await job("prompt\na fox\n");
  const free = '[{ "id": "gamma-image-2", "credits": { "1K": 0, "default": 0 } }]';
  const config = JSON.stringify({ matrix: "models.json" });
  const checkout = { ".imggen/config/config.json": config, "models.json": free };
  const inputs = { "base-url": `${origin}/api`, "api-key": CANARY, "max-credits": "1" };
  const refused = await attempt({ ...inputs, arguments: "-m gamma-image-2 -q 1K" }, { checkout });
  expect(refused).toMatchObject({ isOk: false, outputs: "saved=0\ncredits=\n" });
  expect(submits()).toEqual([]);
});

it("a home that lies in the checkout is refused", async () => {
  const { attempt } = await job("prompt\na fox\n");
  const refused = await attempt({ arguments: "--sandbox" }, { temp: "temp" });
  expect(refused).toMatchObject({ isOk: false, outputs: "saved=0\ncredits=\n" });
  expect(refused.summary).toContain("The batch did not run.");
});

it("arguments may stand on several lines, and have quotes", async () => {
  const { attempt } = await job("thing\nfox\n");
  const lines =
    "--sandbox --poll-interval 100ms\n--template 'a {thing} in  the \"snow\"'\n\n  -m   gamma-image-2 -q 1K\n";
  const { isOk, summary } = await attempt({ arguments: lines });
  expect([isOk, summary]).toEqual([true, expect.stringContaining('| 1 | a fox in the "snow" | ')]);
  expect(await attempt({ arguments: "--sandbox 'no end" })).toMatchObject({ isOk: false });
});

it("a batch that was killed in the middle of a line has a summary and outputs", async () => {
  const temp = await temporaryFolder();
  const line = '{"ok":true,"row":1,"request":{"prompt":"fox"},"files":[],"credits":2}';
  await writeFile(path.join(temp, "imggen-batch.jsonl"), `${line}\n{"ok":true,"row":2,"requ`);
  const files = { GITHUB_STEP_SUMMARY: path.join(temp, "summary"), GITHUB_OUTPUT: path.join(temp, "output") };
  await promisify(execFile)(process.execPath, [path.join(ACTION, "summary.mjs")], {
    env: { RUNNER_TEMP: temp, OUTPUT: "pictures", ...files },
  });
  expect(await readFile(files.GITHUB_OUTPUT, "utf8")).toBe("saved=1\ncredits=\n");
  expect(await readFile(files.GITHUB_STEP_SUMMARY, "utf8")).toContain("1 saved; the batch did not end.");
});
