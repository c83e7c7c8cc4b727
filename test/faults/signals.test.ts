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
import { comfyDouble } from "../support/comfyui.ts";
import { NO_ACCOUNT } from "../support/command-world.ts";
import { heavyPicture, PICTURE, png } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { finished } from "../support/program.ts";
import {
  type Aftermath,
  NOT_SAVED,
  NOTHING_CHARGED,
  PENDING,
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
  success,
} from "../support/scripted-server.ts";
import { completedAt, inTurn, late, replies, silence, stillRunning } from "../support/scripts.ts";
import { handlesSignals, type Started, startedUntil, startedWhen, stopped } from "../support/started.ts";
import { pause } from "../support/wait.ts";
import { words } from "../support/words.ts";

const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;
/** More than any pipe holds. */
const LARGE = heavyPicture(4096);
const PUBLISHING = [
  ["just after the image got its name", "link", "after"],
  ["just before an older file is replaced", "rename", "before"],
] as const;
/** What a `resume` without an id leaves where all went well. */
const RESUMED: Aftermath = { ...SAVED, charged: null };

/** Sends all of the image but its end. */
const half: Behaviour = (_request, socket) => void socket.write(response(200, PICTURE).subarray(0, -20));

/** A moment of a run in which it is stopped, what that leaves, and what `resume` makes of it. */
interface Moment {
  /** What the service does; a script counts its requests, so each test has its own. */
  script?: () => ServiceScript;
  begin: (world: ProgramWorld, server: ScriptedServer) => Promise<Started>;
  /** After one signal, whose exit code this is without; absent where one signal is not tried here. */
  once?: Partial<Aftermath>;
  /** After SIGKILL. */
  killed?: Partial<Aftermath>;
  /** Whether two signals are tried. */
  twice: boolean;
  resumed: Partial<Aftermath>;
}

const atRequest = (count: number) => (world: ProgramWorld, server: ScriptedServer) =>
  startedUntil(world, server, count);

const MOMENTS: [name: string, Moment][] = [
  [
    "while the prompt is read",
    {
      begin: readingItsPrompt,
      once: NOTHING_CHARGED,
      twice: true,
      resumed: { ...NOTHING_CHARGED, charged: null },
    },
  ],
  [
    "during the submit",
    {
      script: () => ({ submit: silence }),
      begin: atRequest(1),
      killed: { submits: 1, open: ["intent"] },
      twice: true,
      resumed: { ...UNKNOWN, type: null, charged: null, open: ["unknown"] },
    },
  ],
  [
    "during a submit that is answered in time",
    {
      script: () => ({ submit: late(700, replies(success({ taskId: "task-1" }))) }),
      begin: atRequest(1),
      once: PENDING,
      twice: false,
      resumed: RESUMED,
    },
  ],
  [
    "while waiting",
    {
      script: () => ({ poll: inTurn(stillRunning, silence, completedAt("/1.png")) }),
      begin: atRequest(3),
      once: PENDING,
      killed: { open: ["accepted"], files: [] },
      twice: true,
      resumed: RESUMED,
    },
  ],
  [
    "during the download",
    {
      script: () => ({ file: inTurn(half, replies(response(200, PICTURE))) }),
      begin: atRequest(3),
      once: NOT_SAVED,
      killed: { open: ["completed"] },
      twice: true,
      resumed: RESUMED,
    },
  ],
  [
    "between two images",
    {
      script: () => ({ poll: completedAt("/1.png", "/2.png") }),
      begin: (world) => publishing(world, "link", "before", 600),
      once: { ...NOT_SAVED, files: ["a-fox-task1.png"], open: ["partly_saved"] },
      twice: false,
      resumed: { ...RESUMED, files: ["a-fox-task1-2.png", "a-fox-task1.png"] },
    },
  ],
  ...PUBLISHING.map(([name, operation, when]): [string, Moment] => [
    name,
    {
      begin: (world) => publishing(world, operation, when),
      killed: { submits: 1, open: ["completed"] },
      twice: true,
      resumed: RESUMED,
    },
  ]),
];

/** `resume` finishes what was charged, and once more changes nothing. */
async function expectResumed(world: ProgramWorld, resumed: Partial<Aftermath>): Promise<void> {
  expect(await world.afterResume()).toMatchObject({ exit: 0, ...resumed });
  for (const name of resumed.files ?? []) expect(await readFile(path.join(world.out, name))).toEqual(PICTURE);
  expect(await world.afterResume()).toMatchObject({ exit: 0, ...resumed });
}

/** One handler serves all signals, and only its exit code differs: SIGINT at every moment, the others at one. */
const ONCE = SIGNALS.flatMap(([signal, code]) =>
  MOMENTS.flatMap(([name, { once, ...moment }]) =>
    once && (signal === "SIGINT" || name === "while waiting")
      ? [[signal, name, code, once, moment] as const]
      : [],
  ),
);

it.each(ONCE)(
  "%s %s: exit %i, and resume finishes what was charged, once",
  async (signal, _name, code, once, { script, begin, resumed }) => {
    const { server, world } = await serviceWorld(script?.());
    const { program, end } = await begin(world, server);
    const { run, elapsedMs } = await stopped(program, end, signal);
    expect(await world.aftermath(run)).toEqual({ ...once, exit: code, type: "interrupted" });
    const isCharged = once.charged === "yes";
    expect(JSON.parse(run.stdout)).toMatchObject({
      taskId: isCharged ? "task-1" : null,
      resume: isCharged ? "imggen resume task-1" : null,
    });
    expect(elapsedMs).toBeLessThan(20_000);
    await expectResumed(world, resumed);
    expect(server.submits()).toHaveLength(once.submits ?? 0);
  },
);

it.each(MOMENTS.filter(([, { twice }]) => twice))(
  "two SIGINTs %s end it at once, and resume finishes what was charged, once",
  async (_name, { script, begin, resumed }) => {
    const { server, world } = await serviceWorld(script?.());
    const { program, end } = await begin(world, server);
    program.kill("SIGINT");
    // Signals that come closer together than a process is woken are one to it.
    await pause(200);
    const { run, elapsedMs } = await stopped(program, end, "SIGINT");
    expect(elapsedMs).toBeLessThan(20_000);
    // It dies of the signal, which a shell shows as 130 too, where a thread is still busy with the disk.
    const exit = expect.toBeOneOf([130, "SIGINT"]);
    expect(await world.aftermath(run)).toMatchObject({ exit, type: "interrupted" });
    for (const name of await world.files())
      expect(name).toMatch(
        /\.png$|^\.imggen-name-[0-9a-f]+\..*|^\.\d{8}T\d{9}-[0-9a-f]{8}\.[0-9a-f]{8}( |$)/,
      );
    await expectResumed(world, resumed);
  },
);

it.each(MOMENTS.filter(([, { killed }]) => killed))(
  "SIGKILL %s: resume finishes what was charged, once, and leaves nothing beside it",
  async (_name, { script, begin, killed, resumed }) => {
    const { server, world } = await serviceWorld(script?.());
    const { program, end } = await begin(world, server);
    const { run } = await stopped(program, end, "SIGKILL");
    expect(await world.aftermath(run)).toMatchObject({ exit: "SIGKILL", ...killed });
    await expectResumed(world, resumed);
  },
);

it("SIGINT while the last image gets its name: it is saved to the end, so exit 0", async () => {
  const { world } = await serviceWorld();
  const { program, end } = await publishing(world, "link", "before", 600);
  const { run } = await stopped(program, end, "SIGINT");
  expect(await world.aftermath(run)).toEqual(SAVED);
  await expectResumed(world, RESUMED);
});

it("SIGINT while waiting, then the same command again: it continues the task, and the image is charged once", async () => {
  const poll = inTurn(stillRunning, silence, completedAt("/1.png"));
  const { server, world } = await serviceWorld({ poll });
  const { program, end } = await startedUntil(world, server, 3);
  expect((await stopped(program, end, "SIGINT")).run.code).toBe(130);
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(SAVED);
  expect(JSON.parse(run.stdout)).toMatchObject({ taskId: "task-1", reused: true });
  expect(run.stderr).toContain("Continuing task-1, charged earlier; --again submits a new task.");
});

it("SIGINT twice, with the same command between: the task stays in the history, and resume makes its image", async () => {
  const { world } = await serviceWorld();
  const begun = path.join(world.folder, "begun");
  const paint = path.join(world.folder, "paint.sh");
  await writeFile(paint, `echo >> ${begun}; [ -e ${begun}.go ] && exec cp ${begun}.go "$2"; exec sleep 60`);
  const env = { IMGGEN_GENERATOR: `command:sh ${paint} {promptFile} {output}`, ...NO_ACCOUNT };
  const lines = async () => (await readFile(begun, "utf8").catch(() => "")).length;
  for (const runs of [1, 2]) {
    const hasBegun = async () => (await lines()) === runs;
    const { program, end } = await startedWhen(world, hasBegun, world.generateArgs(), { env });
    expect((await stopped(program, end, "SIGINT")).run.code).toBe(130);
    const history = JSON.parse((await world.run(["history", "--unfinished", "--json"], { env })).stdout);
    expect(history).toMatchObject([{ state: "waiting", charged: "no" }]);
  }
  await writeFile(`${begun}.go`, PICTURE);
  const { code, stdout } = await world.resume([], { env });
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true, tasks: [{ ok: true, files: [{}] }] }]);
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
  return startedWhen(world, () => existsSync(mark), world.generateArgs(flags), { env });
}

const LONG_WAITING = [
  ["a prompt file", (file: string) => ["generate", "--prompt-file", file, "--json"]],
  ["a manifest", (file: string) => ["batch", file, "--json"]],
  ["a manifest of a dry run", (file: string) => ["batch", file, "--dry-run", "--json"]],
] as const;

describe.each(LONG_WAITING)("%s that is a named pipe", (_name, argsOf) => {
  it.each([
    ["it has no writer", false],
    ["its writer says nothing", true],
  ])("ends with SIGINT while %s, exit 130", async (_why, isOpen) => {
    const { world, fifo } = await worldWithPipe();
    const writer = spawn("sh", isOpen ? ["-c", 'exec 3>"$0"; exec sleep 60', fifo] : ["-c", "true"]);
    onTestFinished(() => void writer.kill("SIGKILL"));
    const program = world.start(argsOf(fifo));
    const end = finished(program);
    await handlesSignals(program);
    await pause(300);
    const { run, elapsedMs } = await stopped(program, end, "SIGINT");
    expect(await world.aftermath(run)).toEqual({ ...NOTHING_CHARGED, exit: 130, type: "interrupted" });
    expect(elapsedMs).toBeLessThan(20_000);
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
    ({ folder }: ProgramWorld) => words(`batch ${folder}/rows.txt -o ${folder}/made -m gamma-image-2 --json`),
  ],
])("two SIGINTs at once end %s --json with one last document, exit 130", async (_name, argsOf) => {
  const busy = json({ code: -1, message: "busy" }, 429, { "retry-after": "60" });
  const { server, world } = await serviceWorld({ submit: replies(busy) });
  await world.manifest(["a fox", "a hen"], "rows.txt");
  const { program, end } = await startedWhen(world, () => server.submits().length >= 1, argsOf(world));
  await pause(200);
  program.kill("SIGINT");
  program.kill("SIGINT");
  await pause(1);
  program.kill("SIGINT");
  const run = await end;
  // If a file operation still runs, as on a busy machine, the program ends itself with the signal: 130 in a shell as well.
  expect([130, "SIGINT"]).toContain(run.code ?? run.signal);
  const last = jsonLines(run.stdout).filter((line) => !("row" in Object(line)));
  expect(last, run.stdout).toHaveLength(1);
});

/** Starts a program that prints more than any pipe holds. */
async function printingMuch(): Promise<ChildProcess> {
  const world = await programWorld(null);
  const manifest = await world.manifest(Array(20_000).fill("a fox"));
  return world.start(["batch", manifest, "--dry-run", "--json", "-m", "gamma-image-2"]);
}

it("a first SIGTERM ends a program whose output is not read", async () => {
  const program = await printingMuch();
  const { elapsedMs, ended, stderr } = await stoppedUnread(program, "SIGTERM");
  expect([143, "SIGTERM"]).toContain(ended);
  expect(stderr).toContain("standard output was not read");
  expect(elapsedMs).toBeLessThan(20_000);
});

it("a first SIGINT ends -o - whose output is not read: no temporary file stays, and resume has the image", async () => {
  const server = await liveService(LARGE);
  const world = await programWorld(server);
  const program = world.start(["generate", "a fox", "--poll-interval", "100ms", "-o", "-"]);
  const { elapsedMs, ended, stderr } = await stoppedUnread(program, "SIGINT");
  expect([130, "SIGINT"]).toContain(ended);
  expect(stderr).toContain("task-1");
  expect(elapsedMs).toBeLessThan(20_000);
  expect(await stagedFiles(world)).toEqual([]);
  expect((await world.resume()).code).toBe(0);
  expect(server.submits()).toHaveLength(1);
});

it.each([
  ["models", '> "$FULL"'],
  // These have ended by themselves, but for their last message.
  ["nosuch", '2> "$FULL"'],
  ["nosuch --json", '> "$FULL"'],
])("SIGINT ends imggen %s whose output goes to a pipe that others have filled", async (line, redirected) => {
  if (platform() !== "linux") return;
  const { world, fifo } = await worldWithPipe();
  const full = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(full));
  expect(() => {
    for (;;) writeSync(full, Buffer.alloc(4096));
  }).toThrow("EAGAIN");
  const through = ["sh", "-c", `exec "$@" ${redirected}`, "sh"];
  const program = world.start(line.split(" "), { through, env: { FULL: fifo } });
  onTestFinished(() => void program.kill("SIGKILL"));
  const end = once(program, "exit");
  await handlesSignals(program);
  await pause(500);
  const sentMs = performance.now();
  program.kill("SIGINT");
  const [code, endedBy] = await end;
  expect([130, "SIGINT"]).toContain(code ?? endedBy);
  expect(performance.now() - sentMs).toBeLessThan(20_000);
});

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
  const program = await printingMuch();
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
  expect(performance.now() - secondMs).toBeLessThan(20_000);
});

it("SIGINT ends the program while one of its threads is blocked by the system", async () => {
  const server = await liveService(PICTURE, { poll: silence });
  const { world, fifo } = await worldWithPipe(server);
  const code = `import fs from "node:fs"; fs.open(${JSON.stringify(fifo)}, "r", () => {})`;
  const hook = `data:text/javascript,${encodeURIComponent(code)}`;
  const { program, end } = await startedUntil(world, server, 2, world.generateArgs(), {
    NODE_OPTIONS: `--import ${hook}`,
  });
  const { run, elapsedMs } = await stopped(program, end, "SIGINT");
  expect([130, "SIGINT"]).toContain((await world.aftermath(run)).exit);
  expect(elapsedMs).toBeLessThan(20_000);
  expect(JSON.parse(run.stdout)).toMatchObject({ error: { type: "interrupted" }, taskId: "task-1" });
});

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

/** The drafts of images in the ledger's folder. */
async function stagedFiles(world: ProgramWorld): Promise<string[]> {
  const names = await readdir(path.join(world.home, "state/tasks"));
  return names.filter((name) => /^\.\d{8}T/.test(name));
}

/** A world with a named pipe that no process has opened. */
async function worldWithPipe(server?: ScriptedServer) {
  const world = await programWorld(server ?? (await liveService(PICTURE)));
  const fifo = path.join(world.folder, "pipe.txt");
  await promisify(execFile)("mkfifo", [fifo]);
  return { world, fifo };
}

/** A program that waits for a free job at ComfyUI, and the POST requests that would stop it. */
async function waitingForComfy() {
  const double = await comfyDouble({ isHeld: true });
  const world = await programWorld(null);
  const env = { IMGGEN_GENERATOR: `comfyui:${double.url}`, IMGGEN_API_KEY: undefined };
  const args = world.generateArgs(["--model", "dream"]);
  const isAccepted = async () => (await world.ledger()).open[0] === "accepted";
  const started = await startedWhen(world, isAccepted, args, { env });
  const stops = () =>
    double.requests.filter(
      ({ method, target }) => method === "POST" && /^\/(?:api\/)?(?:queue|interrupt)/.test(target),
    );
  return { double, world, stops, ...started };
}

/** What a second signal may take to end the program: its own limit is 2 s, but this machine may be busy. */
const SECOND_SIGNAL_MS = 10_000;

it.each(["SIGINT", "SIGTERM"] as const)(
  "SIGINT, then %s, asks ComfyUI to stop a free job, and ends the program",
  async (second) => {
    const { double, world, stops, program, end } = await waitingForComfy();
    program.kill("SIGINT");
    await pause(20);
    const { run, elapsedMs } = await stopped(program, end, second);
    expect(run.code).toBe(second === "SIGINT" ? 130 : 143);
    expect(elapsedMs).toBeLessThan(SECOND_SIGNAL_MS);
    expect(stops()).not.toEqual([]);
    expect(run.stderr).toContain("Ctrl-C again asks");
    // What came of it is for `resume` to find out.
    expect(await world.ledger()).toEqual({ open: ["accepted"], done: [] });
    expect(double.submits).toHaveLength(1);
  },
);

it("a second SIGINT ends the program although ComfyUI does not answer that it stops a free job", async () => {
  const { double, world, program, end } = await waitingForComfy();
  let asked = 0;
  double.isSilent = () => {
    asked += 1;
    return true;
  };
  program.kill("SIGINT");
  await pause(20);
  const { run, elapsedMs } = await stopped(program, end, "SIGINT");
  // A question of its own takes up to 15 s.
  expect(elapsedMs).toBeLessThan(SECOND_SIGNAL_MS);
  expect(asked).toBeGreaterThan(0);
  expect(run.code).toBe(130);
  expect(await world.ledger()).toEqual({ open: ["accepted"], done: [] });
});
