import type { Ora } from "ora";
import type { TaskProgressEvent } from "../../core/task/progress-events.ts";
import { formatDuration } from "../../lib/duration.ts";
import { printable } from "../../lib/escape.ts";
import type { Context } from "../app/context.ts";
import type { Console } from "./console.ts";

/** Shows how a task is getting on: a spinner on a terminal, a few plain lines elsewhere. */
export interface Progress {
  show(event: TaskProgressEvent): void;
  stop(): void;
}

/** A line for what a person should know even without a terminal; null for what only a spinner tells. */
function lastingLine(event: TaskProgressEvent): string | null {
  switch (event.type) {
    case "submit_retry":
      return `Not sent yet: ${event.why} Next try in ${formatDuration(event.delayMs)}.`;
    case "submit_interrupted":
      return `Stopping. Waiting up to ${formatDuration(event.waitMs)} for the task id of the request under way…`;
    case "accepted":
      return `Task ${event.taskId} accepted.`;
    case "download_retry":
      return `Download: ${event.why}. Next try in ${formatDuration(event.delayMs)}.`;
    default:
      return null;
  }
}

/** What the spinner says; null where it stays as it is. */
function momentaryText(event: TaskProgressEvent): string | null {
  switch (event.type) {
    case "submitting":
      return "Submitting";
    case "waiting":
      return `Waiting for task ${event.taskId}`;
    case "poll_trouble":
      return `Still waiting (${event.why})`;
    case "downloading":
      return event.count === 1 ? "Downloading" : `Downloading image ${event.index} of ${event.count}`;
    default:
      return null;
  }
}

/** Progress as plain lines, for pipes, logs and scripts. */
function plainProgress(console: Console): Progress {
  return {
    show(event) {
      // Even under --quiet: the screen may be the only place that has the task's id.
      if (event.type === "ledger_trouble") void console.error(`warning: ${event.message}`);
      const line = lastingLine(event);
      if (line !== null) void console.note(line);
    },
    stop() {},
  };
}

/** One line at the end of the terminal that is rewritten as things go on; nothing where there is no terminal. */
export interface StatusLine {
  set(text: string): void;
  stop(): void;
}

/** A status line for this terminal, or for what stands in its place. */
export async function createStatusLine(console: Console, context: Context): Promise<StatusLine> {
  const { isTTY, columns } = context.stderr;
  // A terminal of no width is no place for a spinner: it would try to clear endless lines.
  const live = isTTY && columns !== 0 && context.env.TERM !== "dumb" && !console.quiet;
  return live ? spinnerLine(console, context) : { set() {}, stop() {} };
}

async function spinnerLine(console: Console, context: Context): Promise<StatusLine> {
  const { default: ora } = await import("ora");
  const spinner: Ora = ora({
    stream: context.stderr as unknown as NodeJS.WritableStream,
    discardStdin: false,
    color: context.env.NO_COLOR ? false : "cyan",
  });
  let resting = true;
  console.beforeWrite = () => {
    if (!resting) spinner.stop();
  };
  console.afterWrite = () => {
    if (!resting) spinner.start();
  };
  return {
    set(text) {
      spinner.text = printable(text);
      if (resting) spinner.start();
      resting = false;
    },
    stop() {
      resting = true;
      spinner.stop();
    },
  };
}

/** Progress for this terminal, or for what stands in its place. */
export async function createProgress(console: Console, context: Context): Promise<Progress> {
  const line = await createStatusLine(console, context);
  const plain = plainProgress(console);
  const start = context.clock.monotonicMs();
  let text = "";
  let timer: NodeJS.Timeout | undefined;
  const retitle = () => {
    const age = Math.floor((context.clock.monotonicMs() - start) / 1000);
    line.set(age < 1 ? text : `${text} · ${formatDuration(age * 1000)}`);
  };
  return {
    show(event) {
      plain.show(event);
      const next = momentaryText(event);
      if (next === null) return;
      text = next;
      retitle();
      timer ??= setInterval(retitle, 1000).unref();
    },
    stop() {
      clearInterval(timer);
      line.stop();
    },
  };
}
