import { execFileSync, spawnSync } from "node:child_process";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { failingDisk } from "../support/failing-disk.ts";
import { heavyPicture, PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { finished } from "../support/program.ts";
import { NOT_SAVED, programWorld, SAVED, serviceWorld } from "../support/program-world.ts";
import { type Behaviour, response, success } from "../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning } from "../support/scripts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tinyDisk } from "../support/tiny-disk.ts";
import { hasTool } from "../support/tools.ts";

/** Kills the program as soon as its probe file in the output folder exists. */
const KILLED_AT_PROBE = `data:text/javascript,${encodeURIComponent(`
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const { openSync } = fs;
  fs.openSync = (file, ...rest) => {
    const fd = openSync(file, ...rest);
    if (/\\/\\.imggen\\.[0-9a-f]{8}$/.test(file)) process.kill(process.pid, "SIGKILL");
    return fd;
  };
  syncBuiltinESMExports();
`)}`;

const NO_MOUNT = "needs permission to mount";
const NOTHING_SENT = { exit: 8, type: "save_failed", charged: "no", submits: 0, open: [], done: [] };
const REFUSED = { exit: 2, type: "usage", charged: "no", submits: 0, open: [], done: [] };

it("a missing output folder is made, parents and all", async () => {
  const { world } = await serviceWorld();
  expect(await world.afterGenerate(["--output", path.join(world.out, "a/b/c/")])).toEqual({
    ...SAVED,
    files: ["a/", "a/b/", "a/b/c/", "a/b/c/a-fox-task1.png"],
  });
});

it.for<[what: string, make: () => Promise<string | null>, as: "output" | "home"]>([
  ["a read-only output folder", readOnlyFolder, "output"],
  ["a full output folder", fullDisk, "output"],
  ["an output folder where the system makes no folders", async () => inProc, "output"],
  ["a full state folder", fullDisk, "home"],
])("%s is found before anything is sent", async ([_what, make, as], test) => {
  const folder = await make();
  if (folder === null) return test.skip(`${NO_MOUNT}, or /proc`);
  const { world } = await serviceWorld();
  const run =
    as === "home"
      ? world.generate([], { env: { IMGGEN_HOME: folder } })
      : world.generate(["--output", `${folder}/`]);
  expect(await world.aftermath(await run)).toMatchObject(NOTHING_SENT);
});

it("an output folder that fills up during the download: no half file, and resume saves it once there is room", async (test) => {
  const disk = tinyDisk(64);
  if (disk === null) return test.skip(NO_MOUNT);
  const big = heavyPicture(200);
  const server = await liveService(big);
  const world = await programWorld(server);
  const run = await world.generate(["--output", `${disk}/`]);
  expect(await world.aftermath(run)).toEqual(NOT_SAVED);
  expect(JSON.parse(run.stdout).error.message).toContain("ENOSPC");
  expect(await readdir(disk)).toEqual([]);
  execFileSync("mount", ["-o", "remount,size=1m", disk]);
  expect(await world.afterResume(["task-1"])).toEqual({ ...SAVED, files: [] });
  expect((await readFile(path.join(disk, "a-fox-task1.png"))).equals(big)).toBe(true);
});

it("a state folder that fills up during the submit still takes the task id: a reserve is kept for it", async (test) => {
  const disk = tinyDisk(256);
  if (disk === null) return test.skip(NO_MOUNT);
  const submit: Behaviour = (_request, socket) => {
    fill(disk);
    socket.write(success({ taskId: "task-1" }));
  };
  const { world } = await serviceWorld(
    { submit, poll: inTurn(stillRunning, completedAt("/1.png")) },
    { IMGGEN_HOME: disk },
  );
  expect(await world.afterGenerate(["--timeout", "50ms"])).toMatchObject({
    exit: 6,
    type: "pending",
    charged: "yes",
    submits: 1,
  });
  const [name = ""] = await readdir(path.join(disk, "state/tasks/open"));
  expect(await readFile(path.join(disk, "state/tasks/open", name), "utf8")).toContain('"taskId":"task-1"');
  await rm(path.join(disk, "filler"));
  expect(await world.afterResume(["task-1"])).toMatchObject({
    exit: 0,
    submits: 1,
    files: ["a-fox-task1.png"],
  });
});

it("a ledger that takes no more records while a 429 is waited out: the request is not submitted again, and cost nothing", async () => {
  const { world } = await serviceWorld({ submit: replies(response(429, "")) });
  const fault = { operation: "write", code: "ENOSPC", match: "tasks/open", after: 2 };
  const run = await world.generate([], { env: failingDisk(fault) });
  const notSent = { exit: 8, type: "save_failed", charged: "no", submits: 1 };
  expect(await world.aftermath(run)).toMatchObject({ ...notSent, open: ["waiting"] });
  expect(await world.afterResume()).toMatchObject({ exit: 0, open: [], done: ["not_sent"] });
});

it("EIO in the ledger before the submit: nothing is sent", async () => {
  const { world } = await serviceWorld();
  for (const operation of ["open", "write", "sync"]) {
    const env = failingDisk({ operation, code: "EIO", match: "/tasks/open/" });
    expect(await world.afterGenerate([], { env })).toMatchObject(NOTHING_SENT);
  }
});

it("EIO in the ledger after the submit: the id is printed, the image saved, and resume does not submit again", async () => {
  const { world } = await serviceWorld();
  const env = failingDisk({ operation: "sync", code: "EIO", match: ".jsonl", after: 1 });
  const run = await world.generate([], { env });
  expect(await world.aftermath(run)).toMatchObject({
    submits: 1,
    files: ["a-fox-task1.png"],
    charged: "yes",
  });
  expect(run.stderr).toContain("task-1");
  expect(await world.afterResume(["task-1"])).toMatchObject({
    exit: 0,
    submits: 1,
    files: ["a-fox-task1.png"],
  });
});

it("EIO while the image is written (write): save_failed, and resume saves it", async () => {
  const { world } = await serviceWorld();
  const env = failingDisk({ operation: "write", code: "EIO", match: `${path.sep}out${path.sep}.2` });
  expect(await world.afterGenerate([], { env })).toEqual(NOT_SAVED);
  expect(await world.afterResume(["task-1"])).toEqual(SAVED);
});

it("short writes, of the ledger and of the image, are continued", async () => {
  const big = heavyPicture(300);
  const world = await programWorld(await liveService(big));
  const env = failingDisk({ operation: "short-write", match: world.folder });
  expect(await world.afterGenerate([], { env })).toEqual(SAVED);
  expect((await readFile(path.join(world.out, "a-fox-task1.png"))).equals(big)).toBe(true);
});

it.each<[what: string, put: (target: string) => unknown]>([
  ["a file", (target) => writeFile(target, "mine")],
  ["a link that leads to a file", (target) => symlink("../elsewhere", target)],
  ["a link that leads nowhere", (target) => symlink("../nowhere", target)],
  ["a pipe", (target) => execFileSync("mkfifo", [target])],
])("%s in the place of an exact path is refused, and stays as it is", async (what, put) => {
  const { world } = await serviceWorld();
  const target = path.join(world.out, "fox.png");
  const elsewhere = path.join(world.folder, "elsewhere");
  await writeFile(elsewhere, "mine");
  await put(target);
  expect(await world.afterGenerate(["--output", target])).toMatchObject(REFUSED);
  expect(await readFile(elsewhere, "utf8")).toBe("mine");
  if (what === "a file") expect(await readFile(target, "utf8")).toBe("mine");
});

it("--overwrite through a link leaves what the link leads to as it is, or replaces it whole", async () => {
  const { world } = await serviceWorld();
  const target = path.join(world.out, "fox.png");
  const elsewhere = path.join(world.folder, "elsewhere");
  await writeFile(elsewhere, "mine");
  await symlink(elsewhere, target);
  expect(await world.afterGenerate(["--output", target, "--overwrite"])).toMatchObject({ exit: 0 });
  expect(await readFile(target)).toEqual(PICTURE);
  const isLink = await readlink(target).then(
    () => true,
    () => false,
  );
  expect(await readFile(elsewhere)).toEqual(isLink ? PICTURE : Buffer.from("mine"));
});

it("a folder in the place of an exact path takes the image inside", async () => {
  const { world } = await serviceWorld();
  await mkdir(path.join(world.out, "fox.png"));
  expect(await world.afterGenerate(["--output", path.join(world.out, "fox.png")])).toEqual({
    ...SAVED,
    files: ["fox.png/", "fox.png/a-fox-task1.png"],
  });
});

it("a file that takes the name during the download is not replaced", async () => {
  const { world } = await serviceWorld({
    file: async (_request, socket) => {
      await writeFile(path.join(world.out, "fox.png"), "mine");
      socket.write(response(200, PICTURE));
    },
  });
  expect(await world.afterGenerate(["--output", path.join(world.out, "fox.png")])).toMatchObject({
    exit: 0,
    files: ["fox-2.png", "fox.png (no image)"],
  });
  expect(await readFile(path.join(world.out, "fox.png"), "utf8")).toBe("mine");
});

it("a name of more than 255 bytes: an exact path is refused, a template is cut to fit", async () => {
  const { world } = await serviceWorld();
  expect(
    await world.afterGenerate(["--output", path.join(world.out, `${"x".repeat(252)}.png`)]),
  ).toMatchObject(REFUSED);
  const { files } = await world.afterGenerate(["--name", `${"漢".repeat(200)}.png`]);
  expect(files).toHaveLength(1);
  expect(files[0]).toMatch(/^漢+\.png$/);
  expect(Buffer.byteLength(files[0] ?? "")).toBeLessThanOrEqual(255);
});

it('--name "NUL.png", which some systems reserve, becomes a name that all take', async () => {
  const { world } = await serviceWorld();
  const { files } = await world.afterGenerate(["--name", "NUL.png"]);
  expect(files).toEqual(["_NUL.png"]);
});

it("too many open files: nothing is lost, and resume saves the image", async (test) => {
  if (!hasTool("prlimit")) return test.skip("prlimit is not installed");
  let pid = 0;
  const { world } = await serviceWorld({
    poll: inTurn(async (request, socket) => {
      const open = (await readdir(`/proc/${pid}/fd`)).length;
      execFileSync("sh", ["-c", `prlimit --pid ${pid} --nofile=${open}:${open + 100}`]);
      await completedAt("/1.png")(request, socket);
    }, completedAt("/1.png")),
  });
  const program = world.start(world.generateArgs());
  pid = program.pid ?? 0;
  const run = await finished(program);
  expect(await world.aftermath(run)).toMatchObject({
    exit: 8,
    type: "save_failed",
    charged: "yes",
    files: [],
  });
  expect(await world.afterResume(["task-1"])).toEqual(SAVED);
});

// A single executable holds its own code.
it.skipIf(process.env.IMGGEN_BINARY !== undefined)(
  "too many open files while the program's own code is loaded: nothing sent, nothing charged",
  async () => {
    const { server, world } = await serviceWorld();
    const types: unknown[] = [];
    for (let after = 2; server.requests.length === 0; after++) {
      const env = failingDisk({ operation: "load", code: "EMFILE", match: "dist/chunks/", after });
      const { stdout } = await world.generate(["--reuse"], { env });
      // Without the part that reports a failure, nothing can be said; that for --reuse is loaded after it.
      if (server.requests.length > 0 || stdout === "") continue;
      const { error, charged, taskId } = JSON.parse(stdout);
      expect({ charged, taskId }).toEqual({ charged: "no", taskId: null });
      types.push(error.type);
    }
    expect(types).toContain("internal");
  },
);

it("a file system without hard links (EPERM) still takes the image, replacing nothing", async () => {
  const { world } = await serviceWorld();
  const env = failingDisk({ operation: "link", code: "EPERM", match: world.out });
  expect(await world.afterGenerate([], { env })).toEqual(SAVED);
  await truncate(path.join(world.out, "a-fox-task1.png"), 0);
  const again = await world.run(["resume", "task-1", "--json", "-o", `${world.out}/`], { env });
  expect(again.code).toBe(0);
  expect((await stat(path.join(world.out, "a-fox-task1.png"))).size).toBe(0);
});

it("nothing that another user or program has put into the output folder makes it unusable", async () => {
  const { world } = await serviceWorld();
  await mkdir(path.join(world.out, ".imggen.probe"));
  const { files, ...rest } = await world.afterGenerate();
  expect(rest).toMatchObject({ exit: 0, done: ["saved"] });
  expect(files).toEqual([".imggen.probe/", "a-fox-task1.png"]);
});

it("probe files that a killed process left in the output folder are removed after a day", async () => {
  const { world } = await serviceWorld();
  const env = { NODE_OPTIONS: `--import ${KILLED_AT_PROBE}` };
  for (let round = 0; round < 3; round++) {
    expect((await world.generate([], { env })).signal).toBe("SIGKILL");
    const left = await readdir(world.out);
    expect(left).toHaveLength(1);
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 3600;
    for (const name of left) await utimes(path.join(world.out, name), twoDaysAgo, twoDaysAgo);
  }
  expect(await world.afterGenerate()).toEqual(SAVED);
});

/** Takes all the room that a disk has left, to the last byte. */
function fill(disk: string): void {
  spawnSync("sh", ["-c", 'cat /dev/zero > "$0/filler"', disk], { stdio: "ignore" });
}

const inProc = platform() === "linux" ? "/proc/nowhere" : null;

/** A disk without any room; null if this system cannot make one. */
async function fullDisk(): Promise<string | null> {
  const disk = tinyDisk(64);
  if (disk !== null) fill(disk);
  return disk;
}

/** A folder that takes nothing, for root neither; null if this system cannot make one. */
async function readOnlyFolder(): Promise<string | null> {
  const disk = tinyDisk(64);
  if (disk !== null) {
    execFileSync("mount", ["-o", "remount,ro", disk]);
    return disk;
  }
  if (process.getuid?.() === 0) return null;
  const folder = await temporaryFolder();
  await chmod(folder, 0o500);
  return folder;
}
