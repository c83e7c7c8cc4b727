// What `sandbox` and `serve` have in common.
import { platform } from "node:os";
import { exitCodeOf } from "../../client/exit-codes.ts";
import { isOfPort } from "../../client/sandbox-folder.ts";
import type { Environment } from "../../client/this-process.ts";
import { errorCode } from "../../lib/error-code.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import type { RequestLine } from "../../sandbox/server.ts";
import type { Session } from "../session/session.ts";
import type { Paint, TextStyle } from "../text/colors.ts";

/** Where a server is, and with which key. */
interface Address {
  baseUrl: string;
  apiKey: string;
  port: number;
}

/** Says how to use a server, and waits until it is to end. @returns the exit code, which says by what */
export async function serveUntilSignal(
  session: Session,
  { baseUrl, apiKey, port }: Address,
  what: string,
): Promise<number> {
  const { console, context, options } = session;
  if (options.json) {
    await session.json({ ok: true, baseUrl, apiKey, port });
  } else {
    await console.result(settingLines({ IMGGEN_BASE_URL: baseUrl, IMGGEN_API_KEY: apiKey }, context.env));
    await console.note(`${what} until Ctrl-C. In another terminal, paste these lines to use it.`);
  }
  return untilSignal(context.signal);
}

/** Starts a server on the port of the flag, or any that is free. @throws UsageError if the port cannot be opened */
export async function startOnPort<Server>(
  flag: string | undefined,
  start: (port: number) => Promise<Server>,
): Promise<Server> {
  const port = flag === undefined ? 0 : wholeNumberOption("--port", flag, { min: 0, max: 65_535 });
  try {
    return await start(port);
  } catch (error) {
    if (!isOfPort(error)) throw error;
    const why = errorCode(error) === "EADDRINUSE" ? "is in use" : `cannot be opened: ${errorText(error)}`;
    throw new UsageError(`Port ${port} ${why}.`, {
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

/** Shows a request: `14:30:05 POST /api/generate-image 200 task_3f9c gamma-image-2 "a fox", cost 2, 998 left`. */
export function showRequest({ console, context }: Session, request: RequestLine): void {
  const { method, path, status, note } = request;
  const line = [clockTime(context.clock.now()), method, path, status === 0 ? "-" : status, note ?? ""];
  void console.note(line.join(" ").trimEnd(), requestPaint(request));
}

/** `14:30:05` */
export function clockTime(nowMs: number): string {
  return new Date(nowMs).toTimeString().slice(0, 8);
}

/** The time dimmed, and the status coloured: served, refused, or failed (no answer, or HTTP 5xx). */
function requestPaint({ status, isRefused }: RequestLine): (style: TextStyle) => Paint {
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
