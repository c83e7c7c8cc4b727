import { thisProcess } from "../../client/this-process.ts";
import { isCtrlC } from "../../lib/interrupted.ts";
import type { Context } from "../session/context.ts";
import { fdStream } from "../text/fd-stream.ts";
import type { OutputStream } from "../text/output-stream.ts";
import { run } from "./run.ts";
import { interruptSignal, isInForeground, leaveSoon, onSuspend, withoutCtrlC } from "./signals.ts";

/** Runs one command line in this process. @returns the exit code */
export async function runInProcess(argv: readonly string[]): Promise<number> {
  const context = processContext();
  const exitCode = await run(argv, context);
  if (context.stopAccepted && isCtrlC(context.signal)) await secondCtrlC(context);
  await terminal.isSilent;
  leaveSoon(exitCode, context.signal);
  return exitCode;
}

/** Time to wait for a second Ctrl-C if it would stop something, in milliseconds. */
const SECOND_CTRL_C_MS = 1_500;

/** A second Ctrl-C comes a moment after the first: what it stops is waited for, and said. */
async function secondCtrlC(context: Context): Promise<void> {
  const stop = context.stopAccepted;
  let stopping: Promise<unknown> | undefined;
  // The command has said how it ended.
  context.onSecondSignal = async () => {};
  context.stopAccepted = (limit) => {
    stopping = stop?.(limit);
    return stopping ?? Promise.resolve();
  };
  await new Promise((resolve) => setTimeout(resolve, SECOND_CTRL_C_MS));
  await stopping;
}

/**
 * The context of the real process. `process` is the global one: importing it would open all three
 * streams at once, which takes longer than reading the command line.
 */
function processContext(): Context {
  const opened: { stdout?: OutputStream; stderr?: OutputStream } = {};
  const context: Context = {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      opened.stdout ??= fdStream(1) ?? quietly(process.stdout);
      return opened.stdout;
    },
    get stderr() {
      opened.stderr ??= fdStream(2) ?? quietly(process.stderr);
      return opened.stderr;
    },
    ...thisProcess(),
    nodeVersion: process.versions.node,
    signal: interruptSignal(
      (reason) => context.onSecondSignal(reason),
      () => context.stopAccepted,
    ),
    onSecondSignal: async () => {},
    ask: (question) => askOnTerminal(question, false),
    askHidden: (question) => askOnTerminal(question, true),
    queryTerminal,
    terminalIsSilent: () => terminal.isSilent,
    namedGraphics: async () => (await import("../input/query-terminal.ts")).namedGraphics(process.stdout),
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

/** Does what the signal would do: on Windows, sending it would end the process at once. */
const onInterrupt = () => void process.emit("SIGINT", "SIGINT");

/** The end of the last query: until then the terminal may still send the answer. */
const terminal: { isSilent: Promise<void> } = { isSilent: Promise.resolve() };

async function queryTerminal(question: string): Promise<string> {
  const { queryTerminal } = await import("../input/query-terminal.ts");
  await terminal.isSilent;
  // A program in the background would be stopped: the terminal's input is not its own.
  if (!isInForeground()) return "";
  // Standard output may hold a document.
  const output = process.stderr.isTTY ? process.stderr : process.stdout;
  const query = queryTerminal(question, { input: process.stdin, output, onInterrupt });
  terminal.isSilent = query.isOver;
  return query.answer;
}

async function askOnTerminal(question: string, isHidden: boolean): Promise<string> {
  const { ask } = await import("../input/query-terminal.ts");
  await terminal.isSilent;
  return ask(question, { input: process.stdin, output: process.stderr, onInterrupt }, isHidden);
}

/** A closed pipe is reported to the code that writes; without a listener it would end the process. */
function quietly(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  return stream.on("error", () => {});
}
