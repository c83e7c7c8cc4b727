import path from "node:path";
import { run } from "../../src/cli/app/run.ts";
import type { Context } from "../../src/cli/session/context.ts";
import type { OutputStream } from "../../src/cli/text/output-stream.ts";
import type { GraphicsSupport } from "../../src/graphics/terminal.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { expandHome } from "../../src/lib/home-folder.ts";
import type { Processes } from "../../src/lib/processes.ts";
import { expectNoKeyShown } from "./canary.ts";
import { plainPicture } from "./plain-picture.ts";
import { quickClock } from "./quick-clock.ts";

export interface RunOptions {
  home: string;
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Standard input as it is piped in; absent: a terminal, so that nothing is read. */
  input?: string | Buffer;
  /** What is typed at the terminal that standard input is then. */
  typed?: string;
  signal?: AbortSignal;
  /** Answers the hidden question of a terminal; the last of several each further one. */
  answer?: string | readonly string[];
  /** Called with that question. */
  onHiddenQuestion?: (question: string) => unknown;
  /** Answers to other questions of a terminal. */
  answers?: Record<string, string>;
  /** What the terminal itself answers to a question. */
  terminalAnswers?: (question: string) => string;
  /** The graphics protocols that the environment names. */
  graphics?: Partial<GraphicsSupport>;
  /** The user's pager: whether it shows a text. */
  page?: (text: string) => boolean;
  /** What the user's editor makes of a text. */
  edit?: (text: string) => string;
  /** Whether standard output and standard error are terminals, or standard output alone. */
  terminal?: boolean | "stdout";
  /** How wide that terminal is. */
  columns?: number;
  rows?: number;
  /** Called with each text that is written to standard output. */
  onStdout?: (text: string) => unknown;
  /** The same of standard error. */
  onStderr?: (text: string) => unknown;
  /** Default: `quickClock`. */
  clock?: Clock;
  /** Default: this process's. */
  nodeVersion?: string;
  /** Where servers on this machine are looked for. Default: where none is. */
  localPorts?: readonly number[];
}

export interface RunResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Each run is a process of its own to the others: it has its own id, and is gone when it has ended. */
const running = new Set<number>();
let lastPid = 0;

/** Runs a whole command in this process, against a world of the test's own. Fails where it shows an API key. */
export async function runCommand(args: readonly string[], options: RunOptions): Promise<RunResult> {
  const pid = ++lastPid;
  const stdout = memoryStream(options, options.onStdout);
  const stderr = memoryStream({ ...options, terminal: options.terminal === true }, options.onStderr);
  const context = testContext(options, pid, { stdout: stdout.stream, stderr: stderr.stream });
  const code = await runAs(pid, args, context);
  const shown = { stdout: stdout.text(), stderr: stderr.text() };
  expectNoKeyShown(shown);
  return { code, ...shown };
}

/** Runs a command as a process that is alive until the command ends. @param context made for the same `pid` */
export async function runAs(pid: number, args: readonly string[], context: Context): Promise<number> {
  running.add(pid);
  return run(args, context).finally(() => running.delete(pid));
}

/** What a command knows of the world, for a test that runs only a part of one. */
export function testContext(
  options: RunOptions,
  pid = 0,
  streams = { stdout: memoryStream({}).stream, stderr: memoryStream({}).stream },
): Context {
  const answers = [options.answer ?? ""].flat();
  return {
    stdin: inputStream(options),
    ...streams,
    env: { IMGGEN_HOME: options.home, ...options.env },
    resolvePath: (file) => path.resolve(options.cwd ?? options.home, expandHome(file)),
    clock: options.clock ?? quickClock,
    processes: processesAs(pid),
    nodeVersion: options.nodeVersion ?? process.versions.node,
    signal: options.signal ?? new AbortController().signal,
    onSecondSignal: async () => {},
    onSuspend: () => () => {},
    isInForeground: () => true,
    fileMode: 0o644,
    random: () => 0,
    drawPicture: plainPicture,
    localPorts: options.localPorts ?? [],
    ask: async (question) => options.answers?.[question] ?? "",
    askHidden: async (question) => {
      options.onHiddenQuestion?.(question);
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? "";
    },
    queryTerminal: async (question) => options.terminalAnswers?.(question) ?? "",
    detectEnvironmentGraphics: async () => ({
      kitty: false,
      iterm2: false,
      sixel: false,
      ...options.graphics,
    }),
    page: async (text) => options.page?.(text) ?? false,
    edit: async (text) => options.edit?.(text) ?? text,
  };
}

function processesAs(pid: number): Processes {
  return {
    self: { pid, host: "in-process", scope: "in-process", started: "" },
    isAlive: (other) => (other.scope === "in-process" ? running.has(other.pid) : null),
  };
}

function memoryStream(
  { terminal = false, columns, rows }: Pick<RunOptions, "terminal" | "columns" | "rows">,
  onText?: RunOptions["onStderr"],
): { stream: OutputStream; text: () => string } {
  const chunks: Buffer[] = [];
  const stream: OutputStream = {
    isTTY: terminal !== false,
    ...(columns !== undefined && { columns }),
    ...(rows !== undefined && { rows }),
    write(data, done) {
      const chunk = Buffer.from(data);
      chunks.push(chunk);
      onText?.(chunk.toString("utf8"));
      done();
      return true;
    },
  };
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}

function inputStream({ input, typed }: Pick<RunOptions, "input" | "typed">): Context["stdin"] {
  const text = typed ?? input;
  return {
    isTTY: input === undefined,
    destroy() {},
    async *[Symbol.asyncIterator]() {
      if (text !== undefined) yield Buffer.from(text);
    },
  };
}
