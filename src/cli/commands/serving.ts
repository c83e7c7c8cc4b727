// Shared by `sandbox` and `serve`.
import { once } from "node:events";
import { platform } from "node:os";
import { getExitCode } from "../../client/exit-codes.ts";
import { isPortError } from "../../client/targets/sandbox-target.ts";
import type { Environment } from "../../client/this-process.ts";
import { errorCode, errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { RequestLine } from "../../sandbox/server.ts";
import type { Session } from "../session/session.ts";
import type { TextStyle, TextStyleName } from "../text/colors.ts";

/** Address and key of a running server. */
interface Address {
  baseUrl: string;
  apiKey: string;
  port: number;
  /** Base URL of OpenAI's API, with the same key; absent if the server has none. */
  openaiBaseUrl?: string;
}

/** Prints how to use a server, and waits for a signal. @returns the exit code of that signal */
export async function serveUntilSignal(
  session: Session,
  { baseUrl, apiKey, port, openaiBaseUrl }: Address,
  what: string,
): Promise<number> {
  const { console, context, options } = session;
  if (options.json) {
    await session.console.json({
      ok: true,
      baseUrl,
      apiKey,
      port,
      ...(openaiBaseUrl !== undefined && { openaiBaseUrl }),
    });
  } else {
    const settings = {
      IMGGEN_BASE_URL: baseUrl,
      IMGGEN_API_KEY: apiKey,
      ...(openaiBaseUrl !== undefined && { OPENAI_BASE_URL: openaiBaseUrl, OPENAI_API_KEY: apiKey }),
    };
    await console.result(settingLines(settings, context.env));
    await console.note(`${what} until Ctrl-C. In another terminal, paste these lines to use it.`);
  }
  const { signal } = context;
  if (!signal.aborted) await once(signal, "abort");
  return getExitCode(signal.reason);
}

/** Starts a server on the port of the flag, or any that is free. @throws UsageError if the port cannot be opened */
export async function startOnPort<Server>(
  flag: number | undefined,
  start: (port: number) => Promise<Server>,
): Promise<Server> {
  const port = flag ?? 0;
  try {
    return await start(port);
  } catch (error) {
    if (!isPortError(error)) throw error;
    const why = errorCode(error) === "EADDRINUSE" ? "is in use" : `cannot be opened: ${errorText(error)}`;
    throw new UsageError(`Port ${port} ${why}.`, {
      hint: "Choose another with --port, or omit it.",
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

/** A line of a server's log: what it is of, how that ended, and what more there is to say. */
export interface LogLine {
  before: string;
  end: string;
  meaning: TextStyleName;
  after: string;
}

/** Shows a line with the time before it, which is dimmed, and the end coloured. */
export function log({ before, end, meaning, after }: LogLine, { console, context }: Session): void {
  const time = new Date(context.clock.now()).toTimeString().slice(0, 8);
  const head = `${time} ${before}${end}`;
  const painted = (style: TextStyle) => `${style("detail", time)} ${before}${style(meaning, end)}`;
  void console.note(head + after, (style) => (line) => line.replace(head, () => painted(style)));
}

/** A request: `14:30:05 POST /api/generate-image 200 task_3f9c gamma-image-2 "a fox", cost 2, 998 left`. */
export function requestLine({ method, path, status, isRefused, note }: RequestLine): LogLine {
  // No answer, or HTTP 5xx: failed.
  const meaning = status === 0 || status >= 500 ? "error" : isRefused ? "warning" : "saved";
  const end = status === 0 ? "-" : String(status);
  return { before: `${method} ${path} `, end, meaning, after: note === null ? "" : ` ${note}` };
}
