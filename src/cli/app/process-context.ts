import { thisProcess } from "../../client/this-process.ts";
import type { Context } from "../session/context.ts";
import { fdStream } from "../text/output-stream.ts";
import { interruptSignal, isInForeground, onSuspend } from "./signals.ts";

/**
 * The context of the real process. `process` is the global one: importing it would open all three
 * streams at once, which takes longer than reading the command line.
 */
export function processContext(): Context {
  const stdout = once(() => fdStream(1) ?? quietly(process.stdout));
  const stderr = once(() => fdStream(2) ?? quietly(process.stderr));
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
    nodeVersion: process.versions.node,
    signal: interruptSignal((reason) => context.onSecondSignal(reason)),
    onSecondSignal: async () => {},
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
