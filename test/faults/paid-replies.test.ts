import { readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { FAL } from "../support/doubles/fal.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { OPENAI } from "../support/doubles/synchronous.ts";
import { failingDisk } from "../support/failing-disk.ts";
import { heavyPicture } from "../support/images.ts";
import { paidWorld } from "../support/paid-world.ts";
import { finished } from "../support/program.ts";
import { json } from "../support/scripted-server.ts";
import { handlesSignals } from "../support/started.ts";
import { pause } from "../support/wait.ts";

const SAVED = { exit: 0, type: null, files: [expect.stringMatching(/\.png$/)], open: [], done: ["saved"] };

/** A disk that takes nothing for files of this name. */
const fullFor = (match: string) => failingDisk({ operation: "write", code: "ENOSPC", match });

it("a task folder that is full when a paid reply comes: the output folder takes it, the record names it, and its end removes it", async () => {
  const { double, world, args, env } = await paidWorld(OPENAI);
  const run = await world.run(args, { env: { ...env, ...fullFor("tasks/work/") } });
  expect(await world.aftermath(run)).toMatchObject({ ...SAVED, charged: "yes" });
  const [lines = []] = await world.records("done");
  const made = lines.find(({ type }) => type === "completed");
  expect(path.dirname(String(made?.kept))).toBe(world.out);
  expect(double.submits()).toHaveLength(1);
});

it("a process that is killed with a paid reply in the output folder: resume saves its image from there", async () => {
  const { double, world, args, env } = await paidWorld(OPENAI);
  const kill = JSON.stringify({ operation: "readFileSync", match: "/imggen-reply-" });
  const hook = fileURLToPath(new URL("../support/kill-at.cjs", import.meta.url));
  const { NODE_OPTIONS, ...full } = fullFor("tasks/work/");
  const options = `${NODE_OPTIONS} --require ${JSON.stringify(hook)}`;
  const at = { IMGGEN_TEST_KILL_AT: kill, NODE_OPTIONS: options };
  await world.run(args, { env: { ...env, ...full, ...at } });
  expect(await readdir(world.out)).toEqual([expect.stringMatching(/^imggen-reply-/)]);
  expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject(SAVED);
  expect(double.submits()).toHaveLength(1);
});

it("no disk takes a paid reply: it is tried until the second signal, and never called safe", async () => {
  const { double, world, args, env } = await paidWorld(OPENAI);
  const program = world.start(args, { env: { ...env, ...fullFor("reply") } });
  const end = finished(program);
  await handlesSignals(program);
  let said = "";
  program.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  while (!said.includes("lost if imggen exits")) await pause(20);
  program.kill("SIGINT");
  await pause(1500);
  expect(program.exitCode).toBe(null);
  program.kill("SIGINT");
  const run = await end;
  expect(run.code).toBe(130);
  expect(run.stderr.match(/lost if imggen exits/g)).toHaveLength(1);
  expect(run.stdout + run.stderr).not.toContain("is not lost");
  expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject({
    exit: 9,
    open: ["unknown"],
  });
  expect(double.submits()).toHaveLength(1);
});

it("no disk takes the reply with the id of a paid job: the ledger records the id, and the image is saved", async () => {
  const { double, world, args, env } = await paidWorld(REPLICATE);
  const run = await world.run(args, { env: { ...env, ...fullFor("reply") } });
  expect(run.stderr).not.toContain("lost if imggen exits");
  expect(await world.aftermath(run)).toMatchObject({ ...SAVED, charged: "yes" });
  expect(double.submits()).toHaveLength(1);
});

it("a disk that is full when a large result comes ends the wait, not the job; resume saves its image", async () => {
  const url = `data:image/png;base64,${heavyPicture(1200).toString("base64")}`;
  const result = json({ images: [{ url }] });
  const { double, world, args, env } = await paidWorld(FAL, { result });
  const run = await world.run(args, { env: { ...env, ...fullFor("/.poll-") } });
  const { message, hint } = JSON.parse(run.stdout).error;
  expect(message).toMatch(/^The reply of \S+ cannot be stored in .*ENOSPC/);
  // Said once, in the words of each face: an agent has no command line.
  expect(hint.match(/imggen resume/g)).toHaveLength(1);
  expect(await world.aftermath(run)).toMatchObject({ exit: 8, charged: "yes", open: ["accepted"] });
  expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject(SAVED);
  expect(double.submits()).toHaveLength(1);
});

it.each(["EMFILE", "EIO"])(
  "%s while a whole paid reply is opened leaves its task as it is; the next resume reads it",
  async (code) => {
    const { double, world, args, env } = await paidWorld(OPENAI);
    const unread = { env: { ...env, ...failingDisk({ operation: "load", code, match: "tasks/work/" }) } };
    const run = await world.run(args, unread);
    const OPEN = { exit: 6, files: [], open: ["started"] };
    expect(await world.aftermath(run)).toMatchObject({ ...OPEN, charged: "unknown" });
    expect(await world.afterResume(["--generator-paid"], unread)).toMatchObject(OPEN);
    expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject(SAVED);
    expect(double.submits()).toHaveLength(1);
  },
);

it("EMFILE while the image of a recorded paid reply is opened leaves it to the next resume", async () => {
  const { double, world, args, env } = await paidWorld(OPENAI);
  const fault = failingDisk({ operation: "load", code: "EMFILE", match: "tasks/work/", after: 1 });
  const run = await world.run(args, { env: { ...env, ...fault } });
  expect(await world.aftermath(run)).toMatchObject({ exit: 8, charged: "yes", open: ["completed"] });
  expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject(SAVED);
  expect(double.submits()).toHaveLength(1);
});
