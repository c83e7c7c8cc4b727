import { platform } from "node:os";
import type { Command } from "commander";
import { exitCodeOf } from "../../client/exit-codes.ts";
import { isOfPort, startInSandboxFolder } from "../../client/sandbox-folder.ts";
import type { Environment } from "../../client/this-process.ts";
import { durationOption } from "../../lib/duration.ts";
import { errorCode } from "../../lib/error-code.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import { type RequestLine, SANDBOX_KEY, startSandbox } from "../../sandbox/server.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import type { Paint, TextStyle } from "../text/colors.ts";

interface SandboxFlags {
  port?: string;
  latency?: string;
  credits?: string;
}

const EXAMPLES = `
Fault injection:
  To test a script, put one of these into a prompt.
  [sandbox:fail]        [sandbox:slow=30s]  [sandbox:no-credits]
  [sandbox:429]         [sandbox:500]       [sandbox:drop]
  [sandbox:truncate]    [sandbox:html]      [sandbox:expired]
  [sandbox:subscription]

Examples:
  $ imggen sandbox
  $ imggen sandbox --port 8787 --latency 5s --credits 20`;

export function register(command: Command, runWith: RunWith): void {
  command
    .option("--port <n>", "port on 127.0.0.1 (default: any free one)")
    .option("--latency <duration>", "how long a task takes (default: 600ms)")
    .option("--credits <n>", "set the balance (default: 1000 at the first start)")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runSandbox));
}

async function runSandbox(session: Session, flags: SandboxFlags): Promise<number> {
  const { console, context } = session;
  const sandbox = await start(session, flags);
  try {
    if (session.options.json) {
      await session.json({ ok: true, baseUrl: sandbox.baseUrl, apiKey: SANDBOX_KEY, port: sandbox.port });
    } else {
      const settings = { IMGGEN_BASE_URL: sandbox.baseUrl, IMGGEN_API_KEY: SANDBOX_KEY };
      await console.result(settingLines(settings, context.env));
      await console.note("Serving until Ctrl-C. In another terminal, paste these lines to use it.");
    }
    return await untilSignal(context.signal);
  } finally {
    await sandbox.close();
  }
}

async function start(session: Session, { port, latency, credits }: SandboxFlags) {
  const { console, context } = session;
  const { clock } = context;
  const matrix = await session.matrix();
  const number = port === undefined ? 0 : wholeNumberOption("--port", port, { min: 0, max: 65_535 });
  try {
    return await startInSandboxFolder(session, (folder) =>
      startSandbox({
        folder,
        port: number,
        matrix,
        ...(latency !== undefined && { latencyMs: durationOption("--latency", latency) }),
        ...(credits !== undefined && { credits: wholeNumberOption("--credits", credits, { min: 0 }) }),
        onRequest: (request) => void console.note(logLine(request, clock.now()), logPaint(request)),
      }),
    );
  } catch (error) {
    if (!isOfPort(error)) throw error;
    const why = errorCode(error) === "EADDRINUSE" ? "is in use" : `cannot be opened: ${errorText(error)}`;
    throw new UsageError(`Port ${number} ${why}.`, {
      hint: "Choose another with --port, or leave it out.",
      cause: error,
    });
  }
}

/** A line for each variable, as the shell of the platform sets it. */
export function settingLines(
  settings: Readonly<Record<string, string>>,
  { SHELL = "" }: Environment,
  onPlatform: NodeJS.Platform = platform(),
): string[] {
  return Object.entries(settings).map(([name, value]) => {
    if (onPlatform === "win32") return `$env:${name} = "${value}"`;
    return SHELL.endsWith("/fish")
      ? `set -gx ${name} ${shellWord(value)}`
      : `export ${name}=${shellWord(value)}`;
  });
}

/** `14:30:05 POST /api/generate-image 200 task_3f9c gamma-image-2 "a fox", cost 2, 998 left`. */
function logLine({ method, path, status, note }: RequestLine, nowMs: number): string {
  const time = new Date(nowMs).toTimeString().slice(0, 8);
  return [time, method, path, status === 0 ? "-" : status, note ?? ""].join(" ").trimEnd();
}

/** The time dimmed, and the status coloured: served, refused, or failed (no answer, or HTTP 5xx). */
function logPaint({ status, isRefused }: RequestLine): (style: TextStyle) => Paint {
  const meaning = status === 0 || status >= 500 ? "error" : isRefused ? "warning" : "saved";
  return (style) => (line) =>
    line.replace(
      /^(\S+)( \S+ \S+ )(\S+)/,
      (_all, time: string, request: string, code: string) =>
        style("detail", time) + request + style(meaning, code),
    );
}

/** Being stopped is how a server ends; the code says by what. */
function untilSignal(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    const end = () => resolve(exitCodeOf(signal.reason));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
