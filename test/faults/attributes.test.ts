import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync, writeFileSync } from "node:fs";
import { mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { accepts } from "../support/batch-world.ts";
import { failingDisk } from "../support/failing-disk.ts";
import { PICTURE } from "../support/images.ts";
import { SAVED, serviceWorld } from "../support/program-world.ts";
import { completedAt } from "../support/scripts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { hasTool } from "../support/tools.ts";

/** A disk that keeps no modes, times and owners below a folder. */
const without = (code: string, match: string) =>
  failingDisk({ operation: "attributes", code, match: `${match}/` });

const NOTHING_SENT = { exit: 8, type: "save_failed", charged: "no", submits: 0, files: [] };

it.for(["EPERM", "EACCES", "ENOTSUP", "EINVAL"])(
  "an output folder that refuses modes and times (%s): the image is saved without them",
  async (code) => {
    const { world } = await serviceWorld();
    const env = without(code, world.out);
    expect(await world.afterGenerate([], { env })).toEqual(SAVED);
  },
);

it("an output folder that refuses modes and times: an image is replaced, and copied to it", async () => {
  const { world } = await serviceWorld({ submit: accepts });
  const env = without("EPERM", world.out);
  const file = path.join(world.out, "fox.png");
  await writeFile(file, "old");
  // Older than the run: a newer file is not replaced.
  execFileSync("touch", ["-d", "2020-01-01", file]);
  const replaced = await world.generate(["--output", file, "--overwrite"], { env });
  expect(replaced.code, replaced.stderr).toBe(0);
  expect(await readFile(file)).toEqual(PICTURE);
  const copy = path.join(world.out, "copy.png");
  const copied = await world.generate(["--output", copy, "--reuse"], { env });
  expect(copied.code, copied.stderr).toBe(0);
  expect(await readFile(copy)).toEqual(PICTURE);
  expect(world.server?.submits()).toHaveLength(1);
});

it("a batch into a folder that refuses modes and times: each row is charged once, and saved", async () => {
  const { world } = await serviceWorld({ submit: accepts, poll: completedAt("/1.png") });
  const manifest = await world.manifest(["one fox", "two foxes", "three foxes"]);
  const flags = ["--yes", "--name", "{slug}", "--output", world.out, "--poll-interval", "100ms"];
  const run = await world.run(["batch", manifest, ...flags], { env: without("EPERM", world.out) });
  expect(await world.aftermath(run)).toMatchObject({
    exit: 0,
    submits: 3,
    files: ["one-fox.png", "three-foxes.png", "two-foxes.png"],
  });
});

it("a home that refuses modes and times: the image is saved", async () => {
  const { world } = await serviceWorld();
  expect(await world.afterGenerate([], { env: without("EPERM", world.home) })).toEqual(SAVED);
});

it("a home that refuses modes and times: a command's image is kept, and so is the image that it edits", async () => {
  const { world } = await serviceWorld();
  const input = path.join(world.folder, "input.png");
  await writeFile(input, PICTURE);
  const edit = path.join(world.folder, "edit.sh");
  await writeFile(edit, 'cp "$2" "$3"');
  const flags = ["--generator", `command:sh ${edit} {promptFile} {image} {output}`, "--image", input];
  const run = await world.generate(flags, { env: without("EPERM", world.home) });
  expect(run.code, run.stdout).toBe(0);
});

it("a home that refuses modes: login stores the key, and warns that others may read it", async () => {
  const { world } = await serviceWorld();
  const file = path.join(world.home, "config", "config.json");
  const args = ["login", "--no-verify", "--base-url", "http://127.0.0.1:9"];
  const run = await world.run(args, { env: without("EPERM", world.home), input: "sk-stored-key-1\n" });
  expect(run.code, run.stderr).toBe(0);
  expect(run.stderr).toContain(`warning: Other users may read ${file}, and the key in it (mode 0777).`);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ apiKey: "sk-stored-key-1" });
});

it.for([
  ["to give an image its name", { operation: "link", code: "EACCES" }],
  ["to write an image to its disk", { operation: "sync", code: "EIO" }],
] as const)("an output folder that refuses %s is found before anything is sent", async ([, fault]) => {
  const { world } = await serviceWorld();
  const env = failingDisk({ ...fault, match: `${world.out}/` });
  expect(await world.afterGenerate([], { env })).toMatchObject(NOTHING_SENT);
});

it("a FAT disk takes images and the ledger", async (test) => {
  const disk = await fatDisk();
  if (disk === null) return test.skip("needs mkfs.vfat, a loop device and a kernel that knows FAT");
  const { world } = await serviceWorld();
  const env = { IMGGEN_HOME: path.join(disk, "home") };
  const run = await world.generate(["--output", `${disk}/out/`], { env });
  expect(run.code, run.stderr).toBe(0);
  expect(await readFile(path.join(disk, "out/a-fox-task1.png"))).toEqual(PICTURE);
  expect(world.server?.submits()).toHaveLength(1);
});

/** A FAT file system on a loop device; null where none can be mounted. */
async function fatDisk(): Promise<string | null> {
  if (!hasTool("mkfs.vfat")) return null;
  const image = path.join(await temporaryFolder(), "disk.img");
  writeFileSync(image, "");
  await truncate(image, 32 * 1024 * 1024);
  const folder = mkdtempSync(path.join(tmpdir(), "imggen-disk-"));
  try {
    execFileSync("mkfs.vfat", [image], { stdio: "ignore" });
    execFileSync("mount", ["-t", "vfat", "-o", "loop", image, folder], { stdio: "ignore" });
  } catch {
    rmdirSync(folder);
    return null;
  }
  onTestFinished(() => {
    execFileSync("umount", ["--lazy", folder], { stdio: "ignore" });
    rmdirSync(folder);
  });
  await mkdir(path.join(folder, "out"));
  return folder;
}
