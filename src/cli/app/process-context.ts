import { thisProcess } from "../../client/this-process.ts";
import { isCtrlC } from "../../lib/interrupted.ts";
import type { Context } from "../session/context.ts";
import { fdStream } from "../text/fd-stream.ts";
import type { OutputStream } from "../text/output-stream.ts";
import { run } from "./run.ts";
import { exitAfterGrace, interruptSignal, isInForeground, onSuspend, withoutCtrlC } from "./signals.ts";

export async function runInProcess(argv: readonly string[]): Promise<number> {
  const context = processContext();
  const exitCode = await run(argv, context);
  if (context.stopAcceptedJobs && isCtrlC(context.signal)) await awaitSecondCtrlC(context);
  await terminal.lastQuery;
  exitAfterGrace(exitCode, context.signal);
  return exitCode;
}

/** Time to wait for a second Ctrl-C if providers can stop jobs, in milliseconds. */
const SECOND_CTRL_C_MS = 1_500;

async function awaitSecondCtrlC(context: Context): Promise<void> {
  const stop = context.stopAcceptedJobs;
  let stopping: Promise<unknown> | undefined;
  // A second signal prints no message, because the command has already printed its result.
  context.onSecondSignal = async () => {};
  context.stopAcceptedJobs = (limit) => {
    stopping = stop?.(limit);
    return stopping ?? Promise.resolve();
  };
  await new Promise((resolve) => setTimeout(resolve, SECOND_CTRL_C_MS));
  await stopping;
}

/** Uses the global `process`, because importing `node:process` opens all three streams, which takes time. */
function processContext(): Context {
  const streams: { stdout?: OutputStream; stderr?: OutputStream } = {};
  const context: Context = {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      streams.stdout ??= fdStream(1) ?? ignoreErrors(process.stdout);
      return streams.stdout;
    },
    get stderr() {
      streams.stderr ??= fdStream(2) ?? ignoreErrors(process.stderr);
      return streams.stderr;
    },
    ...thisProcess(),
    nodeVersion: process.versions.node,
    signal: interruptSignal(
      (reason) => context.onSecondSignal(reason),
      () => context.stopAcceptedJobs,
    ),
    onSecondSignal: async () => {},
    ask: (question) => askOnTerminal(question, false),
    askHidden: (question) => askOnTerminal(question, true),
    queryTerminal,
    awaitLastQuery: () => terminal.lastQuery,
    detectEnvironmentGraphics: async () =>
      (await import("../input/query-terminal.ts")).detectEnvironmentGraphics(process.stdout),
    edit: async (text) => (await import("../input/user-programs.ts")).editText(text, process.env),
    page: async (text) => {
      const { runPager } = await import("../input/user-programs.ts");
      return withoutCtrlC(() => runPager(text, process.env, context.signal));
    },
    isInForeground,
    onSuspend,
  };
  return context;
}

/** Emits the SIGINT event instead of sending the signal, which would kill the process on Windows. */
const onInterrupt = () => void process.emit("SIGINT", "SIGINT");

/** `lastQuery` settles as soon as the terminal can no longer reply to the latest query. */
const terminal: { lastQuery: Promise<void> } = { lastQuery: Promise.resolve() };

async function queryTerminal(question: string): Promise<string> {
  const { queryTerminal } = await import("../input/query-terminal.ts");
  await terminal.lastQuery;
  // Sends no query from the background, because the system stops a background process that reads from the terminal.
  if (!isInForeground()) return "";
  const output = process.stderr.isTTY ? process.stderr : process.stdout;
  const query = queryTerminal(question, { input: process.stdin, output, onInterrupt });
  terminal.lastQuery = query.end;
  return query.answer;
}

async function askOnTerminal(question: string, isHidden: boolean): Promise<string> {
  const { ask } = await import("../input/query-terminal.ts");
  await terminal.lastQuery;
  return ask(question, { input: process.stdin, output: process.stderr, onInterrupt }, isHidden);
}

/** Node ends the process after a stream error without a listener. The callback of a write also receives the error. */
function ignoreErrors(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  return stream.on("error", () => {});
}
