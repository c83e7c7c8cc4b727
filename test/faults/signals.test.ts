import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, writeSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { jsonLines } from "../support/batch-world.ts";
import { heavyPicture, PICTURE, png } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { finished } from "../support/program.ts";
import {
  type Aftermath,
  NOT_SAVED,
  type ProgramWorld,
  programWorld,
  SAVED,
  serviceWorld,
  UNKNOWN,
} from "../support/program-world.ts";
import {
  type Behaviour,
  json,
  response,
  type ScriptedServer,
  type ServiceScript,
} from "../support/scripted-server.ts";
import { completedAt, inTurn, pause, replies, silence, stillRunning } from "../support/scripts.ts";
import { handlesSignals, type Started, startedUntil, startedWhen, stopped } from "../support/started.ts";

const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;
/** More than any pipe holds. */
const LARGE = heavyPicture(4096);
const NOTHING_BEGUN = { charged: "no", files: [], submits: 0, open: [], done: [] };
const PUBLISHING = [
  ["just before the image gets its name", "link", "before"],
  ["just after the image got its name", "link", "after"],
  ["just before an older file is replaced", "rename", "before"],
  ["just after an older file was replaced", "rename", "after"],
] as const;
/** What a `resume` without an id leaves where all went well. */
const RESUMED: Aftermath = { ...SAVED, charged: null };

/** Sends all of the image but its end. */
const half: Behaviour = (_request, socket) => void socket.write(response(200, PICTURE).subarray(0, -20));

/** A moment of a run in which two signals arrive, and what `resume` makes of it. */
interface Moment {
  script: ServiceScript;
  begin: (world: ProgramWorld, server: ScriptedServer) => Promise<Started>;
  resumed: Partial<Aftermath>;
}

const MOMENTS: [name: string, Moment][] = [
  [
    "while the prompt is read",
    { script: {}, begin: readingItsPrompt, resumed: { exit: 0, files: [], submits: 0, open: [], done: [] } },
  ],
  [
    "during the submit",
    {
      script: { submit: silence },
      begin: (world, server) => startedUntil(world, server, 1),
      resumed: { ...UNKNOWN, type: null, charged: null, open: ["intent"] },
    },
  ],
  [
    "while waiting",
    {
      script: { poll: inTurn(stillRunning, silence, completedAt("/1.png")) },
      begin: (world, server) => startedUntil(world, server, 3),
      resumed: RESUMED,
    },
  ],
  [
    "during the download",
    {
      script: { file: inTurn(half, replies(response(200, PICTURE))) },
      begin: (world, server) => startedUntil(world, server, 3),
      resumed: RESUMED,
    },
  ],
  ...PUBLISHING.map(([name, operation, when]): [string, Moment] => [
    name,
    { script: {}, begin: (world) => publishing(world, operation, when), resumed: RESUMED },
  ]),
];

it.each(MOMENTS)(
  "two SIGINTs %s end it at once, and resume finishes what was charged, once",
  async (_name, { script, begin, resumed }) => {
    const { server, world } = await serviceWorld(script);
    const { program, end } = await begin(world, server);
    program.kill("SIGINT");
    // Signals that come closer together than a process is woken are one to it.
    await pause(200);
    const { run, elapsedMs } = await stopped(program, end, "SIGINT");
    expect(elapsedMs).toBeLessThan(2_500);
    // It dies of the signal, which a shell shows as 130 too, where a thread is still busy with the disk.
    const exit = expect.toBeOneOf([130, "SIGINT"]);
    expect(await world.aftermath(run)).toMatchObject({ exit, type: "interrupted" });
    for (const name of await world.files()) expect(name).toMatch(/\.png$|^\.imggen-.*\.(part|claim-1)( |$)/);
    const { files = [] } = resumed;
    expect(await world.afterResume()).toMatchObject(resumed);
    for (const name of files) expect(await readFile(path.join(world.out, name))).toEqual(PICTURE);
    expect(await world.afterResume()).toMatchObject(resumed);
  },
);

it.each(PUBLISHING)(
  "SIGKILL %s: resume saves it, once, and leaves nothing beside it",
  async (_name, operation, when) => {
    const { world } = await serviceWorld();
    const { program, end } = await publishing(world, operation, when);
    const { run } = await stopped(program, end, "SIGKILL");
    expect(await world.aftermath(run)).toMatchObject({ exit: "SIGKILL", submits: 1, open: ["completed"] });
    expect(await world.afterResume()).toEqual(RESUMED);
    expect(await readFile(path.join(world.out, "a-fox-task1.png"))).toEqual(PICTURE);
  },
);

it.each(SIGNALS)("%s while the prompt is read: nothing was sent, exit %i", async (signal, code) => {
  const { world } = await serviceWorld();
  const { program, end } = await readingItsPrompt(world);
  const { run } = await stopped(program, end, signal);
  expect(await world.aftermath(run)).toEqual({ ...NOTHING_BEGUN, exit: code, type: "interrupted" });
});

it.each(SIGNALS)(
  "%s during the download: no half file, exit %i, and resume saves the image",
  async (signal, code) => {
    const { server, world } = await serviceWorld({ file: inTurn(half, replies(response(200, PICTURE))) });
    const { program, end } = await startedUntil(world, server, 3);
    const { run } = await stopped(program, end, signal);
    expect(await world.aftermath(run)).toEqual({ ...NOT_SAVED, exit: code, type: "interrupted" });
    expect(await world.afterResume(["task-1"])).toEqual(SAVED);
  },
);

it.each(SIGNALS)(
  "%s while the last image gets its name: it is saved to the end, so exit 0",
  async (signal) => {
    const { world } = await serviceWorld();
    const { program, end } = await publishing(world, "link", "before", 600);
    const { run } = await stopped(program, end, signal);
    expect(await world.aftermath(run)).toEqual(SAVED);
    expect(await world.afterResume()).toEqual(RESUMED);
  },
);

it.each(SIGNALS)(
  "%s between two images: exit %i, and resume saves the second beside the first",
  async (signal, code) => {
    const { world } = await serviceWorld({ poll: completedAt("/1.png", "/2.png") });
    const { program, end } = await publishing(world, "link", "before", 600);
    const { run } = await stopped(program, end, signal);
    expect(await world.aftermath(run)).toEqual({
      ...NOT_SAVED,
      exit: code,
      type: "interrupted",
      files: ["a-fox-task1.png"],
      open: ["partly_saved"],
    });
    const both = ["a-fox-task1-2.png", "a-fox-task1.png"];
    expect(await world.afterResume(["task-1"])).toEqual({ ...SAVED, files: both });
  },
);

it("SIGINT while waiting, then the same command again: it continues the task, and the image is charged once", async () => {
  const poll = inTurn(stillRunning, silence, completedAt("/1.png"));
  const { server, world } = await serviceWorld({ poll });
  const { program, end } = await startedUntil(world, server, 3);
  expect((await stopped(program, end, "SIGINT")).run.code).toBe(130);
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(SAVED);
  expect(JSON.parse(run.stdout)).toMatchObject({ taskId: "task-1", reused: true });
  expect(run.stderr).toContain("Continuing task-1, charged earlier; --again submits a new one.");
});

/** A generation that has read half a prompt from its standard input, which stays open. */
async function readingItsPrompt(world: ProgramWorld): Promise<Started> {
  const program = world.start(["generate", "-", "--json", "--output", `${world.out}/`]);
  const end = finished(program);
  await swallowed(program, Buffer.alloc(700_000, "a"));
  return { program, end };
}

/** More than a pipe holds is written to its end only when the program reads it. */
function swallowed(program: ChildProcess, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    program.stdin?.on("error", () => {});
    program.stdin?.write(bytes, () => resolve());
  });
}

/** A generation that is held up where it gives the image its name; `rename` is for one that replaces a file. */
async function publishing(
  world: ProgramWorld,
  operation: "link" | "rename",
  when: "before" | "after",
  holdMs = 20_000,
): Promise<Started> {
  const mark = path.join(world.folder, "held");
  const hook = fileURLToPath(new URL("../support/slow-disk.js", import.meta.url));
  const env = {
    NODE_OPTIONS: `--import ${hook}`,
    IMGGEN_TEST_SLOW_DISK: JSON.stringify({ operation, match: world.out, when, holdMs, mark }),
  };
  if (operation === "rename") await writeFile(path.join(world.out, "a-fox-task1.png"), png());
  const flags = operation === "rename" ? ["--overwrite"] : [];
  const { program, end } = await startedWhen(world, () => existsSync(mark), world.generateArgs(flags), {
    env,
  });
  return { program, end };
}

const LONG_WAITING = [
  ["a prompt file", (file: string) => ["generate", "--prompt-file", file, "--json"]],
  ["a manifest", (file: string) => ["batch", file, "--json"]],
  ["a manifest of a dry run", (file: string) => ["batch", file, "--dry-run", "--json"]],
] as const;

describe.each(LONG_WAITING)("%s that is a named pipe", (_name, argsOf) => {
  it.each(SIGNALS)("ends with %s while it has no writer, exit %i", async (signal, code) => {
    const { world, fifo } = await worldWithPipe();
    const program = world.start(argsOf(fifo));
    const end = finished(program);
    await handlesSignals(program);
    await pause(300);
    const { run, elapsedMs } = await stopped(program, end, signal);
    expect(await world.aftermath(run)).toEqual({ ...NOTHING_BEGUN, exit: code, type: "interrupted" });
    expect(elapsedMs).toBeLessThan(5_000);
  });

  it("ends with SIGINT while its writer says nothing, exit 130", async () => {
    const { world, fifo } = await worldWithPipe();
    const writer = spawn("sh", ["-c", 'exec 3>"$0"; exec sleep 60', fifo]);
    onTestFinished(() => void writer.kill("SIGKILL"));
    const program = world.start(argsOf(fifo));
    const end = finished(program);
    await handlesSignals(program);
    await pause(300);
    const { run, elapsedMs } = await stopped(program, end, "SIGINT");
    expect(await world.aftermath(run)).toEqual({ ...NOTHING_BEGUN, exit: 130, type: "interrupted" });
    expect(elapsedMs).toBeLessThan(5_000);
  });
});

it.each([
  ["generate --prompt-file", ["generate", "--dry-run", "--json", "--prompt-file"], "a fox\na hen"],
  ["batch --dry-run --json", ["batch", "--dry-run", "--json"], "a fox"],
])("%s reads a named pipe, once, as soon as it is written to", async (_name, args, prompt) => {
  const { world, fifo } = await worldWithPipe();
  const end = world.run([...args, fifo]);
  await pause(300);
  await promisify(execFile)("sh", ["-c", 'printf "a fox\na hen\n" > "$0"', fifo]);
  const run = await end;
  expect(run.code).toBe(0);
  expect(jsonLines(run.stdout)[0]).toMatchObject({ ok: true, dryRun: true, request: { prompt } });
});

it.each([
  ["generate", (world: ProgramWorld) => world.generateArgs()],
  [
    "batch",
    (world: ProgramWorld) => [
      "batch",
      path.join(world.folder, "rows.txt"),
      "-o",
      path.join(world.folder, "made"),
      "-m",
      "gamma-image-2",
      "--json",
    ],
  ],
])("two SIGINTs at once end %s --json with one last document, exit 130", async (_name, argsOf) => {
  const busy = json({ code: -1, message: "busy" }, 429, { "retry-after": "60" });
  const { server, world } = await serviceWorld({ submit: replies(busy) });
  await writeFile(path.join(world.folder, "rows.txt"), "a fox\na hen\n");
  const { program, end } = await startedWhen(world, () => server.submits().length >= 1, argsOf(world));
  await pause(200);
  program.kill("SIGINT");
  program.kill("SIGINT");
  await pause(1);
  program.kill("SIGINT");
  const run = await end;
  expect(run.code).toBe(130);
  const last = jsonLines(run.stdout).filter((line) => !("row" in Object(line)));
  expect(last, run.stdout).toHaveLength(1);
});

it.each(SIGNALS)("a first %s ends a program whose output is not read", async (signal, exit) => {
  const world = await programWorld(null);
  const manifest = path.join(world.folder, "rows.txt");
  await writeFile(manifest, "a fox\n".repeat(20_000));
  const program = world.start(["batch", manifest, "--dry-run", "--json", "-m", "gamma-image-2"]);
  const { elapsedMs, ended, stderr } = await stoppedUnread(program, signal);
  expect([exit, signal]).toContain(ended);
  expect(stderr).toContain("Standard output was not read");
  expect(elapsedMs).toBeLessThan(2_000);
});

it("a first SIGINT ends -o - whose output is not read: no temporary file stays, and resume has the image", async () => {
  const server = await liveService(LARGE);
  const world = await programWorld(server);
  const program = world.start(["generate", "a fox", "--poll-interval", "100ms", "-o", "-"]);
  const { elapsedMs, ended, stderr } = await stoppedUnread(program, "SIGINT");
  expect([130, "SIGINT"]).toContain(ended);
  expect(stderr).toContain("task-1");
  expect(elapsedMs).toBeLessThan(2_000);
  expect(await stagedFiles(world)).toEqual([]);
  expect((await world.resume()).code).toBe(0);
  expect(server.submits()).toHaveLength(1);
});

it.each(SIGNALS)(
  "%s ends a program whose output goes to a pipe that others have filled",
  async (signal, exit) => {
    if (platform() !== "linux") return;
    const world = await programWorld(null);
    const fifo = path.join(world.folder, "full");
    await promisify(execFile)("mkfifo", [fifo]);
    const full = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(full));
    expect(() => {
      for (;;) writeSync(full, Buffer.alloc(4096));
    }).toThrow("EAGAIN");
    const env = { FULL: fifo };
    for (const [args, redirected] of [
      [["models"], '> "$FULL"'],
      // It has ended by itself, but for its last message.
      [["nosuch"], '2> "$FULL"'],
      [["nosuch", "--json"], '> "$FULL"'],
    ] as const) {
      const program = world.start(args, { through: ["sh", "-c", `exec "$@" ${redirected}`, "sh"], env });
      onTestFinished(() => void program.kill("SIGKILL"));
      const end = once(program, "exit");
      await handlesSignals(program);
      await pause(500);
      const sentMs = performance.now();
      program.kill(signal);
      const [code, endedBy] = await end;
      expect([exit, signal]).toContain(code ?? endedBy);
      expect(performance.now() - sentMs).toBeLessThan(2_000);
    }
  },
);

it("a killed -o -: resume removes its temporary file", async () => {
  const world = await programWorld(await liveService(LARGE));
  const program = world.start(["generate", "a fox", "--poll-interval", "100ms", "-o", "-"]);
  const end = once(program, "exit");
  await once(program.stdout ?? program, "readable");
  program.kill("SIGKILL");
  await end;
  expect(await stagedFiles(world)).toHaveLength(1);
  expect((await world.resume()).code).toBe(0);
  expect(await stagedFiles(world)).toEqual([]);
});

it("a second SIGINT ends a program whose output is not read, exit 130", async () => {
  const world = await programWorld(null);
  const manifest = path.join(world.folder, "rows.txt");
  await writeFile(manifest, "a fox\n".repeat(20_000));
  const program = world.start(["batch", manifest, "--dry-run", "--json", "-m", "gamma-image-2"]);
  onTestFinished(() => void program.kill("SIGKILL"));
  const end = once(program, "exit");
  await once(program.stdout ?? program, "readable");
  await pause(1_000);
  program.kill("SIGINT");
  await pause(100);
  const secondMs = performance.now();
  program.kill("SIGINT");
  const [code, signal] = await end;
  // A write that cannot end keeps the process from an exit of its own.
  expect(code ?? signal).toBe("SIGINT");
  expect(performance.now() - secondMs).toBeLessThan(2_500);
});

it.each(SIGNALS)(
  "%s ends the program while one of its threads is blocked by the system",
  async (signal, exit) => {
    const server = await liveService(PICTURE, { poll: silence });
    const { world, fifo } = await worldWithPipe(server);
    const code = `import fs from "node:fs"; fs.open(${JSON.stringify(fifo)}, "r", () => {})`;
    const hook = `data:text/javascript,${encodeURIComponent(code)}`;
    const { program, end } = await startedUntil(world, server, 2, world.generateArgs(), {
      NODE_OPTIONS: `--import ${hook}`,
    });
    const { run, elapsedMs } = await stopped(program, end, signal);
    expect([exit, signal]).toContain((await world.aftermath(run)).exit);
    expect(elapsedMs).toBeLessThan(2_500);
    expect(JSON.parse(run.stdout)).toMatchObject({ error: { type: "interrupted" }, taskId: "task-1" });
  },
);

/** Sends a signal once the program waits for its output to be read, which never happens. */
async function stoppedUnread(program: ChildProcess, signal: NodeJS.Signals) {
  onTestFinished(() => void program.kill("SIGKILL"));
  let stderr = "";
  program.stderr?.on("data", (chunk: Buffer) => (stderr += chunk));
  const end = once(program, "exit");
  await once(program.stdout ?? program, "readable");
  await pause(500);
  const sentMs = performance.now();
  program.kill(signal);
  const [code, endedBy] = await end;
  return { elapsedMs: performance.now() - sentMs, ended: code ?? endedBy, stderr };
}

/** The temporary files of images in the ledger's folder. */
async function stagedFiles(world: ProgramWorld): Promise<string[]> {
  const names = await readdir(path.join(world.home, "state/tasks"));
  return names.filter((name) => name.startsWith(".imggen-"));
}

/** A world with a named pipe that no process has opened. */
async function worldWithPipe(server?: ScriptedServer) {
  const world = await programWorld(server ?? (await liveService(PICTURE)));
  const fifo = path.join(world.folder, "pipe.txt");
  await promisify(execFile)("mkfifo", [fifo]);
  return { world, fifo };
}
