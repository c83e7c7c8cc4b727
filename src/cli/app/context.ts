import { type ProcessContext, thisProcess } from "../../client/this-process.ts";
import type { InterruptedError } from "../../core/errors.ts";
import type { NamedGraphics } from "../../graphics/terminal.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type Processes, systemProcesses } from "../../lib/processes.ts";
import type { SandboxOptions } from "../../sandbox/server.ts";
import type { InputStream } from "../input/input-stream.ts";
import { fdStream, type OutputStream } from "../output/output-stream.ts";
import { interruptSignal, isInForeground, onSuspend } from "./signals.ts";

/** All that a command needs from its process and terminal. Tests pass a double. */
export interface Context extends ProcessContext {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  clock: Clock;
  /** `22.20.1` */
  readonly nodeVersion: string;
  readonly processes: Processes;
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP, with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** Lines to write when a second signal ends the process at once. */
  onSecondSignal: (reason: InterruptedError) => Promise<unknown>;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Draws the embedded sandbox's images; where it is absent, the sandbox's own painter does. */
  readonly drawPicture?: SandboxOptions["draw"];
  /** Asks on the terminal, and reads a line there. */
  ask: (question: string) => Promise<string>;
  /** As `ask`, without showing what is typed. */
  askHidden: (question: string) => Promise<string>;
  /** Sends the terminal a query, and returns its immediate answer; empty if there is none. */
  queryTerminal: (question: string) => Promise<string>;
  /** The graphics protocols that the environment names. */
  namedGraphics: () => Promise<NamedGraphics>;
  /** Lets the user edit a text in their editor. @throws UsageError if that fails */
  edit: (text: string) => Promise<string>;
  /** Whether this process may draw on the terminal. After a shell's `bg` it may not: the prompt is there. */
  isInForeground: () => boolean;
  /** Calls `before` before Ctrl-Z stops the program, and `after` when it continues. @returns a function that removes the listeners */
  onSuspend: (before: () => void, after: () => void) => () => void;
}

/**
 * The context of the real process. `process` is the global one: importing it would open all three
 * streams at once, which takes longer than reading the command line.
 */
export function processContext(): Context {
  const stdout = once(() => fdStream(1) ?? quietly(process.stdout));
  const stderr = once(() => fdStream(2) ?? quietly(process.stderr));
  const processes = once(systemProcesses);
  const context: Context = {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return stdout();
    },
    get stderr() {
      return stderr();
    },
    ...thisProcess(),
    clock: systemClock,
    nodeVersion: process.versions.node,
    get processes() {
      return processes();
    },
    signal: interruptSignal((reason) => context.onSecondSignal(reason)),
    onSecondSignal: async () => {},
    random: Math.random,
    ask: (question) => askOnTerminal(question, false),
    askHidden: (question) => askOnTerminal(question, true),
    queryTerminal,
    namedGraphics: async () => (await import("../input/query-terminal.ts")).namedGraphics(process.stdout),
    edit: async (text) => (await import("../input/edit-text.ts")).editText(text, process.env),
    isInForeground,
    onSuspend,
  };
  return context;
}

/** As the signal itself would: on Windows, to send it would end the process at once. */
const onInterrupt = () => void process.emit("SIGINT", "SIGINT");

async function queryTerminal(question: string): Promise<string> {
  const module = await import("../input/query-terminal.ts");
  return module.queryTerminal(question, process.stdin, process.stdout, onInterrupt);
}

async function askOnTerminal(question: string, isHidden: boolean): Promise<string> {
  const { ask } = await import("../input/ask.ts");
  return ask(question, { input: process.stdin, output: process.stderr, onInterrupt }, isHidden);
}

/** A closed pipe is reported to the code that writes; without a listener it would end the process. */
function quietly(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  return stream.on("error", () => {});
}

function once<Value>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

/** The user whose files this process may change; undefined on Windows. */
export function effectiveUserId(): number | undefined {
  return process.geteuid?.();
}
