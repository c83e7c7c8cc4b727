import type { Context, OutputStream } from "../../src/cli/context.ts";
import { run } from "../../src/cli/run.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemProcesses } from "../../src/lib/processes.ts";

export interface RunOptions {
  home: string;
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Standard input as piped text; absent: a terminal, so that nothing is read. */
  input?: string;
  signal?: AbortSignal;
  /** Answers the hidden question of a terminal. */
  answer?: string;
}

export interface RunResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a whole command in this process, against a world of the test's own. */
export async function runCommand(args: readonly string[], options: RunOptions): Promise<RunResult> {
  const stdout = memoryStream();
  const stderr = memoryStream();
  const context: Context = {
    stdin: inputStream(options.input),
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: { IMGGEN_HOME: options.home, ...options.env },
    cwd: options.cwd ?? options.home,
    clock: systemClock,
    processes: systemProcesses(),
    signal: options.signal ?? new AbortController().signal,
    fileMode: 0o644,
    random: Math.random,
    askHidden: async () => options.answer ?? "",
  };
  const code = await run(args, context);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function memoryStream(): { stream: OutputStream; text: () => string } {
  const chunks: Buffer[] = [];
  const stream: OutputStream = {
    isTTY: false,
    write(data, done) {
      chunks.push(Buffer.from(data));
      done();
      return true;
    },
  };
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}

function inputStream(text: string | undefined): Context["stdin"] {
  return {
    isTTY: text === undefined,
    destroy() {},
    async *[Symbol.asyncIterator]() {
      if (text !== undefined) yield Buffer.from(text);
    },
  };
}
